/* builtins.h: atomic builtin functions in a header. */
#ifndef BUILTINS_H
#define BUILTINS_H

#include <stdbool.h>

#define LOAD(x, order) __atomic_load_n(&(x), order)
#define GET(x) LOAD(x, __ATOMIC_RELAXED)
#define SET(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELAXED)

static inline void set_flag(bool *flag, bool v) { __atomic_store_n(flag, v, __ATOMIC_RELAXED); }

static inline bool flag_is_set(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_RELAXED);
}

#endif
