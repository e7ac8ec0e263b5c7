// SPDX-License-Identifier: MIT OR Apache-2.0
// Two programs share an arena by passing its descriptor: the first starts the second (itself, with another argument)
// and sends it the descriptor and three object numbers over a Unix socket. The second works until it is told to stop.
//
//     c++ pass_fd.cpp $(pkg-config --cflags --libs ntux)
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <ntux.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

// What the second program must know: the numbers mean the same to both.
struct Objects {
    ntux_object jobs, stop, finished;
};

struct Detach {
    void operator()(ntux_arena *arena) const { ntux_arena_detach(arena); }
};
using Arena = std::unique_ptr<ntux_arena, Detach>;

void check(const char *what, int result)
{
    if (result < 0) {
        std::fprintf(stderr, "%s: %s\n", what, std::strerror(-result));
        std::exit(1);
    }
}

void require(const char *what, bool good)
{
    if (!good) {
        std::perror(what);
        std::exit(1);
    }
}

union Control {
    cmsghdr header;
    char space[CMSG_SPACE(sizeof(int))];
};

void send(int socket, int fd, const Objects &objects)
{
    Objects copy = objects;
    iovec data = {&copy, sizeof copy};
    Control control = {};
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
    require("sendmsg", sendmsg(socket, &message, 0) == sizeof objects);
}

int receive(int socket, Objects &objects)
{
    iovec data = {&objects, sizeof objects};
    Control control = {};
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    require("recvmsg", recvmsg(socket, &message, 0) == sizeof objects && CMSG_FIRSTHDR(&message) != nullptr);
    int fd;
    std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}

int second(int socket)
{
    Objects objects;
    int fd = receive(socket, objects);
    ntux_arena *attached;
    check("attach", ntux_arena_attach(fd, &attached));
    Arena arena(attached);
    close(fd);

    const ntux_object either[] = {objects.jobs, objects.stop};
    unsigned done = 0;
    for (;;) {
        uint32_t index;
        check("wait", ntux_wait_any(arena.get(), either, 2, 0, 2, 0, NTUX_NEVER, &index));
        if (index == 1)
            break;
        done++;
    }
    std::printf("second: %u jobs, then told to stop\n", done);
    std::fflush(stdout);
    check("set", ntux_event_set(arena.get(), objects.finished, nullptr));
    return 0;
}

int first(const char *program)
{
    ntux_arena *created;
    check("create", ntux_arena_create(1024, 64, &created));
    Arena arena(created);
    Objects objects;
    check("semaphore", ntux_semaphore_create(arena.get(), 0, 100, &objects.jobs));
    check("event", ntux_event_create(arena.get(), 1, 0, &objects.stop));
    check("event", ntux_event_create(arena.get(), 0, 0, &objects.finished));

    int sockets[2];
    require("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(sockets[1], STDIN_FILENO);
        close(sockets[0]);
        execl(program, program, "second", static_cast<char *>(nullptr));
        _exit(127);
    }
    close(sockets[1]);
    send(sockets[0], ntux_arena_fd(arena.get()), objects);

    check("release", ntux_semaphore_release(arena.get(), objects.jobs, 5, nullptr));
    check("set", ntux_event_set(arena.get(), objects.stop, nullptr));
    check("wait", ntux_wait_any(arena.get(), &objects.finished, 1, 0, 1, 0, NTUX_NEVER, nullptr));
    int status;
    waitpid(child, &status, 0);
    std::printf("first: the second has finished\n");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc > 1 && std::strcmp(argv[1], "second") == 0)
        return second(STDIN_FILENO);
    return first(argv[0]);
}
