/* Count heap allocations between malloc_count_start and malloc_count_stop, in all threads.
 *
 * Preloaded (LD_PRELOAD) into a child process, so that these definitions are found before those of glibc, which exports
 * its own under a second name. memalign and valloc are obsolete and not counted. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_int counting;
static atomic_long allocations;

static void count(void)
{
    if (atomic_load_explicit(&counting, memory_order_relaxed))
        atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

void malloc_count_start(void)
{
    atomic_store(&allocations, 0);
    atomic_store(&counting, 1);
}

long malloc_count_stop(void)
{
    atomic_store(&counting, 0);
    return atomic_load(&allocations);
}

void *malloc(size_t nbytes)
{
    count();
    return __libc_malloc(nbytes);
}

void *calloc(size_t items, size_t nbytes)
{
    count();
    return __libc_calloc(items, nbytes);
}

void *realloc(void *memory, size_t nbytes)
{
    count();
    return __libc_realloc(memory, nbytes);
}

void *aligned_alloc(size_t alignment, size_t nbytes)
{
    count();
    return __libc_memalign(alignment, nbytes);
}

int posix_memalign(void **memory, size_t alignment, size_t nbytes)
{
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)))
        return EINVAL;
    count();
    void *found = __libc_memalign(alignment, nbytes);
    if (!found)
        return ENOMEM;
    *memory = found;
    return 0;
}
