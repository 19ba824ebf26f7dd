// ThreadSanitizer of gcc 12 does not know pthread_mutex_clocklock, which std::timed_mutex calls, and takes the mutex for one that nobody
// locked. Linked into a program, this gives all libraries the function in terms of one that it knows.
#include <pthread.h>
#include <time.h>

extern "C" int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
    constexpr long kSecond = 1000000000;
    timespec now, real;
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &real);
    long nanoseconds = real.tv_nsec + until->tv_nsec - now.tv_nsec;
    real.tv_sec += until->tv_sec - now.tv_sec;
    for (; nanoseconds < 0; nanoseconds += kSecond) --real.tv_sec;
    for (; nanoseconds >= kSecond; nanoseconds -= kSecond) ++real.tv_sec;
    real.tv_nsec = nanoseconds;
    return pthread_mutex_timedlock(mutex, &real);
}
