/* The cards that there are, and what they say of themselves. */
#include "driver.h"
#include <stdio.h>
#include <string.h>

Card cards[MOST_CARDS];
uint32_t number_of_cards;

/* What cards of a compute capability have. CUDA C++ Programming Guide, "Technical specifications per compute
 * capability"; multiprocessors of T4, A100, RTX 3090, RTX 4090, H100 and RTX 5090. */
typedef struct {
  int capability, multiprocessors, threads, blocks, shared_of_block, shared, kilohertz, l2;
} Model;

static const Model models[] = {
    {75, 40, 1024, 16, 65536, 65536, 1590000, 4 << 20},     {80, 108, 2048, 32, 166912, 167936, 1410000, 40 << 20},
    {86, 82, 1536, 16, 101376, 102400, 1695000, 6 << 20},   {89, 128, 1536, 24, 101376, 102400, 2520000, 72 << 20},
    {90, 132, 2048, 32, 232448, 233472, 1980000, 50 << 20}, {120, 170, 1536, 24, 101376, 102400, 2407000, 96 << 20},
};

static const Model *model_of(uint32_t card) {
  int capability = (int)(cards[card].major * 10 + cards[card].minor);
  const Model *best = &models[0];
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    if (models[i].capability <= capability) best = &models[i];
  return best;
}

/* A further card; to be called before cuInit. 0, or a CUresult. */
int card_add(uint32_t major, uint32_t minor, uint64_t bytes) {
  if (number_of_cards == MOST_CARDS) return INVALID_VALUE;
  uint32_t card = number_of_cards;
  cards[card] = (Card){.major = major, .minor = minor, .bytes = bytes & ~(uint64_t)0xFFFFFF};
  contexts[card] = (Context){.card = card};
  if (!reserve_card(card)) return OUT_OF_MEMORY;
  number_of_cards++;
  return SUCCESS;
}

static bool is_device(int device) { return device >= 0 && (uint32_t)device < number_of_cards; }

int cuDriverGetVersion(int *version) {
  *version = 13000;
  return SUCCESS;
}

int cuDeviceGetCount(int *number) {
  ENTER(ANYWHERE);
  *number = (int)number_of_cards;
  return SUCCESS;
}

int cuDeviceGet(int *device, int ordinal) {
  ENTER(ANYWHERE);
  if (!is_device(ordinal)) return INVALID_DEVICE;
  *device = ordinal;
  return SUCCESS;
}

int cuDeviceGetName(char *name, int room, int device) {
  ENTER(ANYWHERE);
  if (!is_device(device)) return INVALID_DEVICE;
  snprintf(name, (size_t)room, "Emulated card %u.%u", cards[device].major, cards[device].minor);
  return SUCCESS;
}

int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
  ENTER(ANYWHERE);
  if (!is_device(device)) return INVALID_DEVICE;
  memset(uuid, 0xE0 + device, 16);
  return SUCCESS;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  ENTER(ANYWHERE);
  if (!is_device(device)) return INVALID_DEVICE;
  *bytes = cards[device].bytes;
  return SUCCESS;
}

int cuDeviceGetPCIBusId(char *name, int room, int device) {
  ENTER(ANYWHERE);
  if (!is_device(device)) return INVALID_DEVICE;
  snprintf(name, (size_t)room, "0000:%02X:00.0", device + 1);
  return SUCCESS;
}

int cuDeviceCanAccessPeer(int *can, int device, int peer) {
  ENTER(ANYWHERE);
  if (!is_device(device) || !is_device(peer)) return INVALID_DEVICE;
  *can = 0;
  return SUCCESS;
}

/* CUdevice_attribute. What is not here is a feature that these cards lack, which reads 0. */
static int attribute_of(int attribute, uint32_t card) {
  const Model *model = model_of(card);
  switch (attribute) {
    case 1: case 2: case 3: return 1024;    /* MAX_THREADS_PER_BLOCK, MAX_BLOCK_DIM_X, _Y */
    case 4: return 64;                      /* MAX_BLOCK_DIM_Z */
    case 5: case 11: return 0x7FFFFFFF;     /* MAX_GRID_DIM_X, MAX_PITCH */
    case 6: case 7: return 65535;           /* MAX_GRID_DIM_Y, _Z */
    case 8: return 48 << 10;                /* MAX_SHARED_MEMORY_PER_BLOCK */
    case 9: return 64 << 10;                /* TOTAL_CONSTANT_MEMORY */
    case 10: return WARP;                   /* WARP_SIZE */
    case 12: case 82: return 64 << 10;      /* MAX_REGISTERS_PER_BLOCK, _PER_MULTIPROCESSOR */
    case 13: return model->kilohertz;       /* CLOCK_RATE */
    case 14: return 512;                    /* TEXTURE_ALIGNMENT */
    case 15: case 19: case 31: return 1;    /* GPU_OVERLAP, CAN_MAP_HOST_MEMORY, CONCURRENT_KERNELS */
    case 16: return model->multiprocessors; /* MULTIPROCESSOR_COUNT */
    case 33: return (int)card + 1;          /* PCI_BUS_ID */
    case 38: return model->l2;              /* L2_CACHE_SIZE */
    case 39: return model->threads;         /* MAX_THREADS_PER_MULTIPROCESSOR */
    case 40: return 2;                      /* ASYNC_ENGINE_COUNT */
    case 41: case 78: return 1;             /* UNIFIED_ADDRESSING, STREAM_PRIORITIES_SUPPORTED */
    case 75: return (int)cards[card].major; /* COMPUTE_CAPABILITY_MAJOR */
    case 76: return (int)cards[card].minor; /* COMPUTE_CAPABILITY_MINOR */
    case 81: return model->shared;          /* MAX_SHARED_MEMORY_PER_MULTIPROCESSOR */
    case 97: return model->shared_of_block; /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    case 106: return model->blocks;         /* MAX_BLOCKS_PER_MULTIPROCESSOR */
    case 111: return 1024;                  /* RESERVED_SHARED_MEMORY_PER_BLOCK */
    default: return 0;
  }
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  ENTER(ANYWHERE);
  if (!is_device(device)) return INVALID_DEVICE;
  *value = attribute_of(attribute, (uint32_t)device);
  return SUCCESS;
}
