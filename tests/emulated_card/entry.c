/* How programs find the driver's functions. One that is not there says so: nothing is silent. */
#define _GNU_SOURCE
#include "driver.h"
#include "driver_functions.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int missing(const char *name) {
  fprintf(stderr, "emulated card: %s is not there\n", name);
  return NOT_SUPPORTED;
}

#define NAME(name) \
  static int no_##name(void) { return missing(#name); }
DRIVER_FUNCTIONS
#undef NAME

typedef struct {
  const char *name;
  int (*function)(void);
} Missing;

#define NAME(name) {#name, no_##name},
static const Missing known[] = {DRIVER_FUNCTIONS};
#undef NAME

/* A function of this library by its name; NULL. */
static void *own_function(const char *name) {
  static void *self;
  Dl_info where;
  if (!self && dladdr((void *)&missing, &where)) self = dlopen(where.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  return self ? dlsym(self, name) : NULL;
}

/* The newest version goes before: there is one of each here. */
static void *find_function(const char *name) {
  char newest[128];
  snprintf(newest, sizeof newest, "%s_v2", name);
  void *found = own_function(newest);
  if (!found) found = own_function(name);
  for (size_t i = 0; !found && i < sizeof known / sizeof *known; i++)
    if (!strcmp(known[i].name, name)) found = (void *)known[i].function;
  return found;
}

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
  (void)version, (void)flags;
  *function = find_function(name);
  if (status) *status = *function ? 0 : 1; /* CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND */
  return *function ? SUCCESS : NOT_FOUND;
}

int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}

typedef struct {
  int code;
  const char *name, *text;
} Name;

static const Name names[] = {
    {SUCCESS, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {NO_BINARY, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static const Name *name_of(int code) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].code == code) return &names[i];
  return NULL;
}

int cuGetErrorName(int code, const char **out) {
  const Name *found = name_of(code);
  *out = found ? found->name : NULL;
  return found ? SUCCESS : INVALID_VALUE;
}

int cuGetErrorString(int code, const char **out) {
  const Name *found = name_of(code);
  *out = found ? found->text : NULL;
  return found ? SUCCESS : INVALID_VALUE;
}

/* CU_POINTER_ATTRIBUTE_: CONTEXT 1, MEMORY_TYPE 2, DEVICE_POINTER 3, HOST_POINTER 4, DEVICE_ORDINAL 9. */
int cuPointerGetAttribute(void *out, int attribute, uint64_t address) {
  ENTER(ANYWHERE);
  int card = card_of(address);
  bool is_host = card < 0 && is_pinned((void *)address, 1);
  if (card < 0 && !is_host) return INVALID_VALUE;
  switch (attribute) {
    case 1: *(Context **)out = is_host ? NULL : &contexts[card]; return SUCCESS;
    case 2: *(unsigned *)out = is_host ? 1 : 2; return SUCCESS; /* CU_MEMORYTYPE_HOST, _DEVICE */
    case 3: *(uint64_t *)out = address; return is_host ? INVALID_VALUE : SUCCESS;
    case 4: *(uint64_t *)out = address; return is_host ? SUCCESS : INVALID_VALUE;
    case 9: *(int *)out = is_host ? 0 : card; return SUCCESS;
    default: return NOT_SUPPORTED;
  }
}
