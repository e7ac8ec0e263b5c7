/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What Wine's test programs include, as far as they need it here: each check says where it stands and whether it holds. What Wine marks as
 * todo for itself is a check like any other, because Windows is what is asked for. */
#ifndef __WINE_TEST_H
#define __WINE_TEST_H

#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <windef.h>

static LONG suite_passed, suite_failed;

static void suite_check(int line, BOOL holds, const char *format, ...)
{
    va_list arguments;

    if (holds) {
        InterlockedIncrement(&suite_passed);
        return;
    }
    InterlockedIncrement(&suite_failed);
    printf("failed %d: ", line);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    fflush(stdout);
}

static void suite_say(const char *what, int line, const char *format, ...)
{
    va_list arguments;

    printf("%s %d: ", what, line);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    fflush(stdout);
}

static void winetest_push_context(const char *format, ...) { (void)format; }
static void winetest_pop_context(void) {}

static int winetest_get_mainargs(char ***arguments)
{
    static char *names[] = {"suite", "test"};

    *arguments = names;
    return ARRAY_SIZE(names);
}

static const char *wine_dbgstr_longlong(ULONGLONG number)
{
    static char text[24];

    snprintf(text, sizeof text, "0x%lx", number);
    return text;
}

/* The condition is evaluated before the arguments of the message. */
#define ok(condition, ...) do { BOOL suite_holds = !!(condition); suite_check(__LINE__, suite_holds, __VA_ARGS__); } while (0)
#define todo_wine
#define todo_wine_if(condition) if (((void)(condition), 1))
#define broken(condition) ((void)(condition), 0)
#define trace(...) do {} while (0)
#define skip(...) suite_say("skipped", __LINE__, __VA_ARGS__)
#define win_skip(...) suite_say("skipped", __LINE__, __VA_ARGS__)

/* The body of START_TEST, in which the runner has put a condition in front of each function. */
static const char *suite_function;
static int suite_runs(const char *function) { return !strcmp(function, suite_function); }
#define START_TEST(name) static void suite_start(void)

static void suite_start(void);

/* What was passed is told also of a function that does not end. */
static void suite_hangs(int signal)
{
    (void)signal;
    printf("passed %d, failed %d\n", suite_passed, suite_failed);
    fflush(stdout);
    _exit(124);
}

int main(int count, char **arguments)
{
    signal(SIGALRM, suite_hangs);
    alarm(count > 2 ? atoi(arguments[2]) : 60);
    suite_function = count > 1 ? arguments[1] : "";
    /* The names that the tests use are for this process. */
    ntw_UseProcessNames(TRUE);
    suite_start();
    printf("passed %d, failed %d\n", suite_passed, suite_failed);
    return 0;
}

#endif
