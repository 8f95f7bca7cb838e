"""The calls of the system that the process may use which reads files: on Linux, a list.

`python -m qmd.sources.confinement` prints whether the system has the list.
"""

from __future__ import annotations

import os
import platform
import struct
import sys

#: System calls that readers and Python may use, with their numbers on x86_64 and aarch64 (0: does not exist).
#: They read files, and change nothing but memory and threads of the process itself.
_ALLOWED = """
    read 0 63, write 1 64, close 3 57, stat 4 0, fstat 5 80, lstat 6 0, poll 7 0, lseek 8 62, mmap 9 222,
    mprotect 10 226, munmap 11 215, brk 12 214, rt_sigaction 13 134, rt_sigprocmask 14 135,
    rt_sigreturn 15 139, pread64 17 67, readv 19 65, writev 20 66, access 21 0, pipe 22 0, select 23 0,
    sched_yield 24 124, mremap 25 216, mincore 27 232, madvise 28 233, dup 32 23, dup2 33 0,
    nanosleep 35 101, getpid 39 172, exit 60 93, uname 63 160, getdents 78 0, getcwd 79 17,
    readlink 89 0, umask 95 166, gettimeofday 96 169, getrlimit 97 163, getrusage 98 165, sysinfo 99 179,
    times 100 153, getuid 102 174, getgid 104 176, geteuid 107 175, getegid 108 177, getppid 110 173,
    setrlimit 160 164, sigaltstack 131 132, statfs 137 43, fstatfs 138 44, arch_prctl 158 0, gettid 186 178,
    time 201 0, futex 202 98, sched_getaffinity 204 123, getdents64 217 61, set_tid_address 218 96,
    restart_syscall 219 128, fadvise64 221 223, clock_gettime 228 113, clock_getres 229 114,
    clock_nanosleep 230 115, exit_group 231 94, newfstatat 262 79, readlinkat 267 78, faccessat 269 48,
    pselect6 270 72, ppoll 271 73, set_robust_list 273 99, get_robust_list 274 100, dup3 292 24,
    pipe2 293 59, getcpu 309 168, getrandom 318 278, membarrier 324 283, statx 332 291, rseq 334 293
"""
#: System calls that are allowed if some bits of an argument have one of these values; by their numbers, with
#: the argument's. Files are opened for reading, threads are started, limits are one's own, and `fcntl` copies
#: descriptors and has flags: it does not say who gets signals.
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CLONE_THREAD = 0x10000
_CONDITIONAL = (
    ((2, 0), 1, _WRITING, (0,)),  # open
    ((257, 56), 2, _WRITING, (0,)),  # openat
    ((56, 220), 0, _CLONE_THREAD, (_CLONE_THREAD,)),  # clone
    ((302, 261), 0, 0xFFFFFFFF, (0,)),  # prlimit64
    # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC
    ((72, 25), 1, 0xFFFFFFFF, (0, 1, 2, 3, 4, 1030)),  # fcntl
)
#: Calls from this number on are told to be missing, so that libraries use the older ones.
_NEW = 424
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_ALLOW, _REFUSE, _MISSING, _KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000


def confine() -> bool:
    """Let the system refuse every call that is not on the list; return whether it can."""
    machine = _MACHINES.get(platform.machine()) if sys.platform == "linux" else None
    if machine is None or sys.maxsize < 2**32:
        return False
    import ctypes

    program = _program(*machine)
    code = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: the number of instructions, and their address
    head = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    if prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return bool(prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(head), 0, 0) == 0)


def _program(column: int, architecture: int) -> bytes:
    """Return a filter for seccomp in the code of the Berkeley Packet Filter.

    `struct seccomp_data` has the number at 0, the architecture at 4, and arguments of 8 bytes from 16 on.
    """
    lines = [
        *((_LOAD, 0, 0, 4), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _KILL)),
        *((_LOAD, 0, 0, 0), (_AT_LEAST, 0, 1, _NEW), (_RETURN, 0, 0, _MISSING)),
    ]
    for numbers, argument, bits, wanted in _CONDITIONAL:
        # The lower half of the argument: both machines are little-endian.
        check = [(_LOAD, 0, 0, 16 + 8 * argument), (_AND, 0, 0, bits)]
        for value in wanted:
            check += [(_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW)]
        check.append((_RETURN, 0, 0, _REFUSE))
        if numbers[column]:
            lines += [(_EQUAL, 0, len(check), numbers[column]), *check]
    for entry in _ALLOWED.split(","):
        number = int(entry.split()[1 + column])
        if number or entry.split()[0] == "read":
            lines += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    lines.append((_RETURN, 0, 0, _REFUSE))
    return b"".join(struct.pack("@HBBI", *line) for line in lines)


if __name__ == "__main__":
    sys.exit(0 if confine() else 1)
