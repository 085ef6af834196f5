/* Libraries: PTX text, handed to the loader that Python registered, which answers with translated kernels. */
#include "library.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_KERNELS = 256, OPT_IN_LIMIT = 227 << 10, SHARED_LIMIT = 48 << 10 };

/* Writes the kernels of a PTX text, at most so many, and gives their number; below 0 where it cannot be translated. */
typedef int (*Loader)(const char *ptx, const Kernel **kernels, int most);

typedef struct {
  Loaded *kernels;
} Library;

static Loader loader;

void card_set_loader(Loader given) { loader = given; }

static Loaded *add_kernel(Library *library, const Kernel *kernel) {
  Loaded *made = calloc(1, sizeof *made);
  uint32_t most_dynamic = kernel->shared < SHARED_LIMIT ? SHARED_LIMIT - kernel->shared : 0;
  *made = (Loaded){library->kernels, kernel, library, true, most_dynamic};
  return library->kernels = made;
}

int cuLibraryLoadData(Library **out, const char *image, const void *options, const void *values, unsigned number,
                      const void *library_options, const void *library_values, unsigned library_number) {
  (void)options, (void)values, (void)number, (void)library_options, (void)library_values, (void)library_number;
  const Kernel *kernels[MOST_KERNELS];
  ENTER(ANYWHERE);
  if (!image || !loader) return INVALID_VALUE;
  if (!strncmp(image, "\x7f" "ELF", 4) || !strstr(image, ".version")) return NO_BINARY;
  take_time(LOADING);
  int found = loader(image, kernels, MOST_KERNELS);
  if (found < 0) return INVALID_PTX;
  Library *library = calloc(1, sizeof *library);
  for (int i = 0; i < found; i++) add_kernel(library, kernels[i]);
  count(LOADS, 1);
  *out = library;
  return SUCCESS;
}

/* Libraries belong to no context. */
int cuLibraryUnload(Library *library) {
  ENTER(ANYWHERE);
  if (!library) return INVALID_HANDLE;
  for (Loaded *each = library->kernels; each; each = each->next) each->is_loaded = false;
  return SUCCESS;
}

int cuLibraryGetKernel(Loaded **out, Library *library, const char *name) {
  ENTER(ANYWHERE);
  take_time(LOADING);
  if (!library) return INVALID_HANDLE;
  for (Loaded *each = library->kernels; each; each = each->next)
    if (!strcmp(each->kernel->name, name)) {
      *out = each;
      return SUCCESS;
    }
  return NOT_FOUND;
}

Loaded *loaded_kernel(const void *handle) {
  Loaded *loaded = (Loaded *)handle;
  if (!loaded || loaded->is_loaded) return loaded;
  finding("unloaded", "kernel %s is used after its library was unloaded", loaded->kernel->name);
  return NULL;
}

int cuKernelGetFunction(Loaded **function, Loaded *kernel) {
  ENTER(IN_CONTEXT);
  if (!loaded_kernel(kernel)) return INVALID_HANDLE;
  *function = kernel;
  return SUCCESS;
}

int cuKernelGetLibrary(void **library, Loaded *kernel) {
  ENTER(ANYWHERE);
  if (!kernel) return INVALID_HANDLE;
  *library = kernel->library;
  return SUCCESS;
}

/* CUfunction_attribute. A translated kernel has no registers to count: 32 stands for them. */
static int read_attribute(int *value, int attribute, Loaded *loaded) {
  const Kernel *kernel = loaded->kernel;
  switch (attribute) {
    case 0: *value = (int)kernel->threads; break;         /* MAX_THREADS_PER_BLOCK */
    case 1: *value = (int)kernel->shared; break;          /* SHARED_SIZE_BYTES */
    case 2: *value = 0; break;                            /* CONST_SIZE_BYTES */
    case 3: *value = (int)kernel->local; break;           /* LOCAL_SIZE_BYTES */
    case 4: *value = 32; break;                           /* NUM_REGS */
    case 8: *value = (int)loaded->most_dynamic; break;    /* MAX_DYNAMIC_SHARED_SIZE_BYTES */
    default: *value = 0;
  }
  return SUCCESS;
}

int cuKernelGetAttribute(int *value, int attribute, Loaded *kernel, int device) {
  (void)device;
  ENTER(ANYWHERE);
  take_time(LOADING);
  return loaded_kernel(kernel) ? read_attribute(value, attribute, kernel) : INVALID_HANDLE;
}

int cuFuncGetAttribute(int *value, int attribute, Loaded *function) {
  ENTER(IN_CONTEXT);
  return loaded_kernel(function) ? read_attribute(value, attribute, function) : INVALID_HANDLE;
}

static int set_attribute(Loaded *loaded, int attribute, int value) {
  if (attribute == 9) return SUCCESS; /* PREFERRED_SHARED_MEMORY_CARVEOUT: a hint */
  if (attribute != 8) return NOT_SUPPORTED;
  if (value < 0 || (uint32_t)value + loaded->kernel->shared > OPT_IN_LIMIT) return INVALID_VALUE;
  loaded->most_dynamic = (uint32_t)value;
  return SUCCESS;
}

int cuKernelSetAttribute(int attribute, int value, Loaded *kernel, int device) {
  (void)device;
  ENTER(ANYWHERE);
  return loaded_kernel(kernel) ? set_attribute(kernel, attribute, value) : INVALID_HANDLE;
}

int cuFuncSetAttribute(Loaded *function, int attribute, int value) {
  ENTER(IN_CONTEXT);
  return loaded_kernel(function) ? set_attribute(function, attribute, value) : INVALID_HANDLE;
}
