/* Launches: checked as a card checks them, queued with copies of their parameters, run by the worker of the stream. */
#include "library.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 1024, MOST_DEEP = 64, MOST_GRID = 65535 };

/* CUlaunchConfig */
typedef struct {
  uint32_t grid[3], block[3], dynamic_shared;
  void *stream;
  const void *attributes;
  unsigned number_of_attributes;
} Configuration;

static int run_launch(Operation *operation) {
  Launch *launch = operation->launch;
  take_time(LAUNCHING);
  int result = fault_of_launch(launch->card);
  if (result) return result;
  if (operation->is_faulty && fails_on_finding) return LAUNCH_FAILED;
  if (is_repeating()) return SUCCESS;
  result = execute(launch);
  return result || !launch->is_faulty || !fails_on_finding ? result : LAUNCH_FAILED;
}

static bool is_possible(const Configuration *asked, const Loaded *loaded) {
  const uint32_t *grid = asked->grid, *block = asked->block;
  uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
  bool is_grid = grid[0] && grid[1] && grid[2] && grid[0] <= 0x7FFFFFFF && grid[1] <= MOST_GRID && grid[2] <= MOST_GRID;
  bool is_block = threads && threads <= MOST_THREADS && threads <= loaded->kernel->threads && block[2] <= MOST_DEEP;
  return is_grid && is_block && asked->dynamic_shared <= loaded->most_dynamic;
}

/* One block of memory: the launch, the places of its parameters, their bytes; each parameter aligned to 16. */
static Launch *new_launch(const Configuration *asked, const Kernel *kernel, void **parameters) {
  static uint64_t number;
  size_t bytes = sizeof(Launch) + kernel->parameters * sizeof(void *) + 16;
  for (uint32_t i = 0; i < kernel->parameters; i++) bytes += (kernel->sizes[i] + 15u) & ~15u;
  Launch *launch = calloc(1, bytes);
  launch->parameters = (void **)(launch + 1);
  uint8_t *at = (uint8_t *)(((uintptr_t)(launch->parameters + kernel->parameters) + 15) & ~(uintptr_t)15);
  for (uint32_t i = 0; i < kernel->parameters; i++) {
    launch->parameters[i] = memcpy(at, parameters[i], kernel->sizes[i]);
    at += (kernel->sizes[i] + 15u) & ~15u;
  }
  memcpy(launch->grid, asked->grid, sizeof launch->grid);
  memcpy(launch->block, asked->block, sizeof launch->block);
  launch->kernel = kernel;
  launch->dynamic_shared = asked->dynamic_shared;
  launch->card = current_context()->card;
  launch->number = __atomic_add_fetch(&number, 1, __ATOMIC_RELAXED);
  launch->flags = check_flags;
  launch->seed = check_seed ? check_seed * 7919u + (uint32_t)launch->number : 0;
  return launch;
}

static uint64_t parameter(const Launch *launch, uint32_t index) {
  uint64_t value;
  memcpy(&value, launch->parameters[index], sizeof value);
  return value;
}

/* The memory that the arrays of a launch lie in; below 0 where one of them is no memory of this card. */
static int find_accesses(const Launch *launch, Access *accesses) {
  const Kernel *kernel = launch->kernel;
  int number = 0;
  for (uint32_t i = 0; i < kernel->arrays; i++) {
    const Array *array = &kernel->array[i];
    Access access = {parameter(launch, array->first + 4), 1, array->is_read, array->is_written};
    if (!parameter(launch, array->first + 2)) continue; /* no items */
    if (check_access(kernel->name, access)) return -1;
    if (access.is_read || access.is_written) accesses[number++] = access;
  }
  return number;
}

static int launch_kernel(const Configuration *asked, const void *handle, void **parameters) {
  Loaded *loaded = loaded_kernel(handle);
  Stream *stream = stream_of(asked->stream);
  Access accesses[MOST_ARRAYS];
  if (!loaded || !stream) return INVALID_HANDLE;
  if (!is_possible(asked, loaded)) return INVALID_VALUE;
  Launch *launch = new_launch(asked, loaded->kernel, parameters);
  int number = find_accesses(launch, accesses);
  if (number < 0) {
    free(launch);
    return INVALID_VALUE;
  }
  Operation *operation = new_operation(run_launch);
  operation->staged = operation->launch = launch;
  submit(stream, operation, accesses, (uint32_t)number);
  count(LAUNCHES, 1);
  count(ARRAYS, loaded->kernel->arrays);
  return SUCCESS;
}

int cuLaunchKernelEx(const Configuration *asked, const void *function, void **parameters, void **extra) {
  ENTER(IN_CONTEXT);
  return asked && !extra ? launch_kernel(asked, function, parameters) : INVALID_VALUE;
}

int cuLaunchKernel(const void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned dynamic_shared, void *stream, void **parameters,
                   void **extra) {
  Configuration asked = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_shared, stream, NULL, 0};
  ENTER(IN_CONTEXT);
  return extra ? INVALID_VALUE : launch_kernel(&asked, function, parameters);
}
