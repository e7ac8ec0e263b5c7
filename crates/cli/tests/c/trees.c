/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The processes of a tree: one that has the device and hands it on, others that are given it. Compiled for glibc, musl, 32 bits
 * and statically; knows the kernel's interface only.
 *
 *   serve SOCKET COUNT       open the device, say whether it is there, give it to COUNT processes that connect
 *   fetch SOCKET             connect, be given the device, try it
 *   pair PROGRAM...          give the device through a pair of sockets to a child that executes PROGRAM, when it asks; the number
 *                            of its socket comes last
 *   receive FD               ask for the device through FD, and try it
 *   hold keep|close HOW PROGRAM...   open the device so that an exec keeps or closes it, then execute PROGRAM; its number
 *                            comes last. HOW: execv, execvp, execve, execvpe, execl, execlp, execle, spawn, spawnp, fexecve;
 *                            "clean-" before it empties the environment
 *   use FD                   try a device that was inherited
 *   lock FILE                take Wine's lock of this file, and keep it until standard input ends
 *   open FUNCTION PATH       what opening gives, twice
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

struct event_arguments {
    uint32_t manual, signaled;
};

#define CREATE_EVENT _IOW('N', 0x87, struct event_arguments)
#define EVENT_READ _IOR('N', 0x8d, struct event_arguments)

extern char **environ;

static int die(const char *what)
{
    perror(what);
    exit(99);
}

static int check(int result, const char *what)
{
    return result >= 0 ? result : die(what);
}

/* An event that is made and read through the device. */
static int try_device(int device)
{
    struct event_arguments made = { .manual = 1, .signaled = 1 }, found = { 0, 0 };
    int event = ioctl(device, CREATE_EVENT, &made);
    if (event < 0 || ioctl(event, EVENT_READ, &found) < 0) {
        printf("fails with %d\n", errno);
        return 1;
    }
    puts(found.manual && found.signaled ? "works" : "answers wrongly");
    return 0;
}

static void send_device(int socket, int device)
{
    char byte = 0, control[CMSG_SPACE(sizeof device)] = { 0 };
    struct iovec part = { &byte, 1 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    if (device >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof device);
        memcpy(CMSG_DATA(header), &device, sizeof device);
    }
    check(sendmsg(socket, &message, 0), "sendmsg");
}

static int receive_device(int socket)
{
    int device;
    char byte, control[CMSG_SPACE(sizeof device)];
    struct iovec part = { &byte, 1 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
    check(recvmsg(socket, &message, 0), "recvmsg");
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (!header) {
        puts("no device");
        return 0;
    }
    memcpy(&device, CMSG_DATA(header), sizeof device);
    return try_device(device);
}

static struct sockaddr_un address(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return address;
}

static int serve(const char *path, int count)
{
    struct sockaddr_un place = address(path);
    int device = open("/dev/ntsync", O_RDONLY | O_CLOEXEC);
    int listening = check(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    check(bind(listening, (struct sockaddr *)&place, sizeof place), "bind");
    check(listen(listening, 8), "listen");
    puts(device >= 0 ? "serving" : "without");
    fflush(stdout);
    for (; count; count--) {
        int client = check(accept(listening, NULL, NULL), "accept");
        send_device(client, device);
        close(client);
    }
    return 0;
}

static int fetch(const char *path)
{
    struct sockaddr_un place = address(path);
    int server = check(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    check(connect(server, (struct sockaddr *)&place, sizeof place), "connect");
    return receive_device(server);
}

/* The arguments with a number behind them. */
static char **with_number(char **arguments, int number)
{
    static char *list[64], text[16];
    int count = 0;
    for (; arguments[count] && count < 62; count++)
        list[count] = arguments[count];
    snprintf(text, sizeof text, "%d", number);
    list[count] = text;
    return list;
}

static int status_of(pid_t child)
{
    int status;
    check(waitpid(child, &status, 0), "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static int pair(char **arguments)
{
    char byte;
    int ends[2], device = check(open("/dev/ntsync", O_RDONLY | O_CLOEXEC), "open");
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
    pid_t child = check(fork(), "fork");
    if (child == 0) {
        check(fcntl(ends[1], F_SETFD, 0), "fcntl");
        execvp(arguments[0], with_number(arguments, ends[1]));
        die("execvp");
    }
    close(ends[1]);
    check(read(ends[0], &byte, 1) - 1, "read");
    send_device(ends[0], device);
    return status_of(child);
}

static int spawn(int by_path, char **arguments, char **variables)
{
    pid_t child;
    int error = (by_path ? posix_spawn : posix_spawnp)(&child, arguments[0], NULL, NULL, arguments, variables);
    if (error) {
        errno = error;
        die("posix_spawn");
    }
    return status_of(child);
}

static int hold(const char *keep, const char *how, char **arguments)
{
    static char *nothing[] = { NULL };
    int device = check(open("/dev/ntsync", O_RDONLY | (strcmp(keep, "keep") ? O_CLOEXEC : 0)), "open");
    arguments = with_number(arguments, device);
    if (!strncmp(how, "clean-", 6)) {
        how += 6;
        environ = nothing;
    }
    if (!strcmp(how, "execv"))
        execv(arguments[0], arguments);
    else if (!strcmp(how, "execvp"))
        execvp(arguments[0], arguments);
    else if (!strcmp(how, "execve"))
        execve(arguments[0], arguments, environ);
#ifdef __GLIBC__
    else if (!strcmp(how, "execvpe"))
        execvpe(arguments[0], arguments, environ);
#endif
    else if (!strcmp(how, "fexecve"))
        fexecve(check(open(arguments[0], O_RDONLY | O_CLOEXEC), "open"), arguments, environ);
    else if (!strncmp(how, "execl", 5)) {
        /* More than travel in registers;  */
        char *const *a = arguments;
        int words = 0;
        while (a[words])
            words++;
        if (words != 9)
            return die("execl takes nine words here");
        if (!strcmp(how, "execl"))
            execl(a[0], a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], NULL);
        else if (!strcmp(how, "execlp"))
            execlp(a[0], a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], NULL);
        else
            execle(a[0], a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], NULL, environ);
    } else
        return spawn(!strcmp(how, "spawn"), arguments, environ);
    return die(how);
}

static int lock(const char *path)
{
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };
    char byte;
    check(fcntl(check(open(path, O_RDWR | O_CREAT, 0600), "open"), F_SETLK, &all), "fcntl");
    puts("locked");
    fflush(stdout);
    return read(0, &byte, 1) != 0;
}

#ifdef __GLIBC__
extern int __open_2(const char *, int), __open64_2(const char *, int);
extern int __openat_2(int, const char *, int), __openat64_2(int, const char *, int);

static int open_by(const char *function, const char *path)
{
    errno = 0;
#define TRY(name, ...)                                                                                                     \
    if (!strcmp(function, #name))                                                                                          \
        return name(__VA_ARGS__);
    TRY(open, path, O_RDONLY)
    TRY(open64, path, O_RDONLY)
    TRY(openat, AT_FDCWD, path, O_RDONLY)
    TRY(openat64, AT_FDCWD, path, O_RDONLY)
    TRY(__open_2, path, O_RDONLY)
    TRY(__open64_2, path, O_RDONLY)
    TRY(__openat_2, AT_FDCWD, path, O_RDONLY)
    TRY(__openat64_2, AT_FDCWD, path, O_RDONLY)
    return die(function);
}
#else
static int open_by(const char *function, const char *path)
{
    errno = 0;
    (void)function;
    return open(path, O_RDONLY);
}
#endif

int main(int count, char **arguments)
{
    alarm(60);
    const char *task = count > 1 ? arguments[1] : "";
    if (!strcmp(task, "serve") && count == 4)
        return serve(arguments[2], atoi(arguments[3]));
    if (!strcmp(task, "fetch") && count == 3)
        return fetch(arguments[2]);
    if (!strcmp(task, "hold") && count > 4)
        return hold(arguments[2], arguments[3], arguments + 4);
    if (!strcmp(task, "use") && count == 3)
        return try_device(atoi(arguments[2]));
    if (!strcmp(task, "pair") && count > 3)
        return pair(arguments + 2);
    if (!strcmp(task, "receive") && count == 3) {
        check(write(atoi(arguments[2]), "?", 1), "write");
        return receive_device(atoi(arguments[2]));
    }
    if (!strcmp(task, "lock") && count == 3)
        return lock(arguments[2]);
    if (!strcmp(task, "open") && count == 4) {
        int first = open_by(arguments[2], arguments[3]), error = errno, second = open_by(arguments[2], arguments[3]);
        printf("%d %d %d %d\n", first, error, second, errno);
        return 0;
    }
    fprintf(stderr, "trees: unknown task '%s'\n", task);
    return 97;
}
