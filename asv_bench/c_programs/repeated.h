/* REPEATED(name, (parameters), arguments...) defines name_repeated: the program called `times` times, for programs that
   take no longer than a call from Python. The pointer is volatile so that no call is left out or moved. */

#include <stddef.h>

#define UNPACKED(...) __VA_ARGS__

#define REPEATED(name, parameters, ...)                               \
    double name##_repeated(UNPACKED parameters, ptrdiff_t times) {    \
        double (*volatile program)(UNPACKED parameters) = name;       \
        double value = 0.0;                                           \
        for (ptrdiff_t k = 0; k < times; k++) value = program(__VA_ARGS__); \
        return value;                                                 \
    }
