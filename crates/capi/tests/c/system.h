/* Which system's promises a test checks: programs cannot tell a simulated macOS from Linux. */
#if defined(__APPLE__) || defined(SIMULATED_MACOS)
#define IS_LINUX 0
#else
#define IS_LINUX 1
#endif
