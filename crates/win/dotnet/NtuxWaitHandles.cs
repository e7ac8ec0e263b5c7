// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Events, semaphores and mutexes with names that all processes of a user see, for .NET on Linux: what System.Threading has on Windows
// alone. They are objects of libntux-win. docs/win/dotnet.md says how to use them, and what differs.
//
// C# 7.3 and .NET Standard 2.0. A program may compile this file, or reference Ntux.WaitHandles.csproj.
using System;
using System.IO;
using System.Runtime.InteropServices;
using System.Threading;
using Microsoft.Win32.SafeHandles;

namespace Ntux
{
    /// <summary>Says which processes see the names: those of this user that join the same session.</summary>
    public static class NtuxSession
    {
        static readonly object joining = new object();
        static volatile bool joined;

        /// <summary>
        /// Joins a session, before this process has an object of libntux-win. Without this call the first object joins that of null, which
        /// native programs join by <c>ntw_UseSessionNames(NULL)</c>. The same session may be joined again.
        /// </summary>
        /// <exception cref="InvalidOperationException">The process has objects already, or another session.</exception>
        public static void Join(string name = null)
        {
            lock (joining)
            {
                if (Native.ntw_UseSessionNames(name) == 0)
                    throw Refusal(Native.ntw_GetLastError());
                joined = true;
            }
        }

        internal static void JoinOnce()
        {
            if (joined)
                return;
            lock (joining)
            {
                if (!joined)
                    Join();
            }
        }

        static Exception Refusal(uint error)
        {
            switch (error)
            {
                case Native.ErrorAlreadyInitialized:
                    return new InvalidOperationException(
                        "This process has objects of libntux-win already, or another session: join one first, the same everywhere.");
                case Native.ErrorInvalidParameter:
                    return new ArgumentException("A session's name has 1 to 200 bytes, and no '/'.");
                case Native.ErrorNotSupported:
                    return new PlatformNotSupportedException("Processes cannot share objects on this system.");
                default:
                    return Native.Failure(error, "the session");
            }
        }
    }

    /// <summary>
    /// A handle of libntux-win that can be waited for. It is a <see cref="WaitHandle"/>, so code that calls WaitOne takes it. The runtime
    /// has a table of its own for its handles outside Windows, so its WaitAny, WaitAll, SignalAndWait and RegisterWaitForSingleObject do
    /// not: call those of this class, which in turn take nothing else.
    /// </summary>
    public abstract class NtuxWaitHandle : WaitHandle
    {
        const int MostHandles = 64;

        static readonly SafeWaitHandle closed = Closed();

        internal readonly NtuxHandle handle;

        internal NtuxWaitHandle(NtuxHandle handle)
        {
            this.handle = handle;
            // The runtime would wait for ever for one that is not set. This one it refuses (ObjectDisposedException).
            SafeWaitHandle = closed;
        }

        static SafeWaitHandle Closed()
        {
            var handle = new SafeWaitHandle(IntPtr.Zero, false);
            handle.Close();
            return handle;
        }

        public override bool WaitOne()
        {
            return WaitOne(Timeout.Infinite);
        }

        /// <returns>False if the time is over.</returns>
        /// <exception cref="AbandonedMutexException">The mutex is this thread's now; its owner ended without releasing it.</exception>
        public override bool WaitOne(int millisecondsTimeout)
        {
            return Finished(Native.ntw_WaitForSingleObject(handle, Milliseconds(millisecondsTimeout)));
        }

        public override bool WaitOne(TimeSpan timeout)
        {
            return WaitOne(Milliseconds(timeout));
        }

        public override bool WaitOne(int millisecondsTimeout, bool exitContext)
        {
            return WaitOne(millisecondsTimeout);
        }

        public override bool WaitOne(TimeSpan timeout, bool exitContext)
        {
            return WaitOne(Milliseconds(timeout));
        }

        public static new int WaitAny(params WaitHandle[] waitHandles)
        {
            return WaitAny(waitHandles, Timeout.Infinite);
        }

        public static new int WaitAny(WaitHandle[] waitHandles, TimeSpan timeout)
        {
            return WaitAny(waitHandles, Milliseconds(timeout));
        }

        /// <returns>The index of the handle that was acquired, the first one if there are several; WaitTimeout if the time is over.</returns>
        /// <exception cref="AbandonedMutexException">As of WaitOne; MutexIndex says which one.</exception>
        public static new int WaitAny(WaitHandle[] waitHandles, int millisecondsTimeout)
        {
            uint result = WaitForSeveral(waitHandles, false, millisecondsTimeout);
            uint index = result - Native.WaitAbandoned;
            if (index < waitHandles.Length)
                throw new AbandonedMutexException((int)index, waitHandles[index]);
            return (int)result;
        }

        public static new bool WaitAll(params WaitHandle[] waitHandles)
        {
            return WaitAll(waitHandles, Timeout.Infinite);
        }

        public static new bool WaitAll(WaitHandle[] waitHandles, TimeSpan timeout)
        {
            return WaitAll(waitHandles, Milliseconds(timeout));
        }

        /// <summary>Acquires all of them in one step, or none.</summary>
        /// <returns>False if the time is over.</returns>
        /// <exception cref="AbandonedMutexException">All were acquired; the owner of one at least ended without releasing it.</exception>
        public static new bool WaitAll(WaitHandle[] waitHandles, int millisecondsTimeout)
        {
            uint result = WaitForSeveral(waitHandles, true, millisecondsTimeout);
            if (result - Native.WaitAbandoned < waitHandles.Length)
                throw new AbandonedMutexException();
            return result != Native.WaitTimedOut;
        }

        public static new bool SignalAndWait(WaitHandle toSignal, WaitHandle toWaitOn)
        {
            return SignalAndWait(toSignal, toWaitOn, Timeout.Infinite, false);
        }

        public static new bool SignalAndWait(WaitHandle toSignal, WaitHandle toWaitOn, TimeSpan timeout, bool exitContext)
        {
            return SignalAndWait(toSignal, toWaitOn, Milliseconds(timeout), exitContext);
        }

        /// <summary>Sets or releases the one object, then waits for the other one: two steps.</summary>
        /// <returns>False if the time is over.</returns>
        public static new bool SignalAndWait(WaitHandle toSignal, WaitHandle toWaitOn, int millisecondsTimeout, bool exitContext)
        {
            return Finished(Native.ntw_SignalObjectAndWait(
                HandleOf(toSignal, nameof(toSignal)), HandleOf(toWaitOn, nameof(toWaitOn)), Milliseconds(millisecondsTimeout), 0));
        }

        protected override void Dispose(bool explicitDisposing)
        {
            handle.Dispose();
            base.Dispose(explicitDisposing);
        }

        static uint WaitForSeveral(WaitHandle[] waitHandles, bool all, int millisecondsTimeout)
        {
            if (waitHandles == null)
                throw new ArgumentNullException(nameof(waitHandles));
            if (waitHandles.Length == 0)
                throw new ArgumentException("There is nothing to wait for.", nameof(waitHandles));
            if (waitHandles.Length > MostHandles)
                throw new NotSupportedException("A wait takes at most 64 handles.");
            uint milliseconds = Milliseconds(millisecondsTimeout);
            var handles = new NtuxHandle[waitHandles.Length];
            var values = new IntPtr[waitHandles.Length];
            int held = 0;
            try
            {
                // What is held is not closed while this waits, whoever disposes of it.
                for (; held < handles.Length; ++held)
                {
                    bool isHeld = false;
                    handles[held] = HandleOf(waitHandles[held], nameof(waitHandles));
                    handles[held].DangerousAddRef(ref isHeld);
                    values[held] = handles[held].DangerousGetHandle();
                }
                uint result = Native.ntw_WaitForMultipleObjects((uint)values.Length, values, all ? 1 : 0, milliseconds);
                if (result != Native.WaitFailed)
                    return result;
                uint error = Native.ntw_GetLastError();
                throw all && error == Native.ErrorInvalidParameter
                    ? new DuplicateWaitObjectException(nameof(waitHandles))
                    : Native.Failure(error, "the wait");
            }
            finally
            {
                while (held > 0)
                    handles[--held].DangerousRelease();
            }
        }

        static NtuxHandle HandleOf(WaitHandle waitHandle, string argument)
        {
            if (waitHandle == null)
                throw new ArgumentNullException(argument);
            return waitHandle is NtuxWaitHandle ours
                ? ours.handle
                : throw new ArgumentException("A handle of the runtime cannot be waited for together with those of libntux-win.", argument);
        }

        static bool Finished(uint result)
        {
            switch (result)
            {
                case Native.WaitObject0:
                    return true;
                case Native.WaitTimedOut:
                    return false;
                case Native.WaitAbandoned:
                    throw new AbandonedMutexException();
                default:
                    throw Native.Failure(Native.ntw_GetLastError(), "the wait");
            }
        }

        // Timeout.Infinite is INFINITE.
        static uint Milliseconds(int timeout)
        {
            return timeout >= Timeout.Infinite ? unchecked((uint)timeout) : throw new ArgumentOutOfRangeException(nameof(timeout));
        }

        static int Milliseconds(TimeSpan timeout)
        {
            double milliseconds = timeout.TotalMilliseconds;
            return milliseconds > Timeout.Infinite - 1 && milliseconds < int.MaxValue
                ? (int)milliseconds
                : throw new ArgumentOutOfRangeException(nameof(timeout));
        }
    }

    /// <summary>An event as System.Threading.EventWaitHandle, with a name or without one.</summary>
    public sealed class NtuxEventWaitHandle : NtuxWaitHandle
    {
        public NtuxEventWaitHandle(bool initialState, EventResetMode mode, string name = null)
            : this(initialState, mode, name, out _)
        {
        }

        /// <param name="createdNew">False if another one has this name: it was opened, and keeps its state and mode.</param>
        /// <exception cref="WaitHandleCannotBeOpenedException">An object of another kind has this name.</exception>
        public NtuxEventWaitHandle(bool initialState, EventResetMode mode, string name, out bool createdNew)
            : base(Create(initialState, mode, name, out createdNew))
        {
        }

        NtuxEventWaitHandle(NtuxHandle handle)
            : base(handle)
        {
        }

        public static NtuxEventWaitHandle OpenExisting(string name)
        {
            return new NtuxEventWaitHandle(NtuxHandle.Opened(Native.ntw_OpenEventW, Native.EventModifyState, name, true));
        }

        /// <returns>False if no event has this name.</returns>
        public static bool TryOpenExisting(string name, out NtuxEventWaitHandle result)
        {
            NtuxHandle opened = NtuxHandle.Opened(Native.ntw_OpenEventW, Native.EventModifyState, name, false);
            result = opened == null ? null : new NtuxEventWaitHandle(opened);
            return result != null;
        }

        public bool Set()
        {
            return Native.ntw_SetEvent(handle) != 0 ? true : throw Native.Failure(Native.ntw_GetLastError(), "the event");
        }

        public bool Reset()
        {
            return Native.ntw_ResetEvent(handle) != 0 ? true : throw Native.Failure(Native.ntw_GetLastError(), "the event");
        }

        static NtuxHandle Create(bool initialState, EventResetMode mode, string name, out bool createdNew)
        {
            if (mode != EventResetMode.AutoReset && mode != EventResetMode.ManualReset)
                throw new ArgumentException("No such mode.", nameof(mode));
            NtuxSession.JoinOnce();
            int isManual = mode == EventResetMode.ManualReset ? 1 : 0;
            return NtuxHandle.Created(Native.ntw_CreateEventW(IntPtr.Zero, isManual, initialState ? 1 : 0, name), name, out createdNew);
        }
    }

    /// <summary>A semaphore as System.Threading.Semaphore, with a name or without one.</summary>
    public sealed class NtuxSemaphore : NtuxWaitHandle
    {
        public NtuxSemaphore(int initialCount, int maximumCount, string name = null)
            : this(initialCount, maximumCount, name, out _)
        {
        }

        /// <param name="createdNew">False if another one has this name: it was opened, and keeps its counts.</param>
        /// <exception cref="WaitHandleCannotBeOpenedException">An object of another kind has this name.</exception>
        public NtuxSemaphore(int initialCount, int maximumCount, string name, out bool createdNew)
            : base(Create(initialCount, maximumCount, name, out createdNew))
        {
        }

        NtuxSemaphore(NtuxHandle handle)
            : base(handle)
        {
        }

        public static NtuxSemaphore OpenExisting(string name)
        {
            return new NtuxSemaphore(NtuxHandle.Opened(Native.ntw_OpenSemaphoreW, Native.SemaphoreModifyState, name, true));
        }

        /// <returns>False if no semaphore has this name.</returns>
        public static bool TryOpenExisting(string name, out NtuxSemaphore result)
        {
            NtuxHandle opened = NtuxHandle.Opened(Native.ntw_OpenSemaphoreW, Native.SemaphoreModifyState, name, false);
            result = opened == null ? null : new NtuxSemaphore(opened);
            return result != null;
        }

        /// <returns>The count before.</returns>
        public int Release(int releaseCount = 1)
        {
            if (releaseCount < 1)
                throw new ArgumentOutOfRangeException(nameof(releaseCount));
            if (Native.ntw_ReleaseSemaphore(handle, releaseCount, out int previous) != 0)
                return previous;
            uint error = Native.ntw_GetLastError();
            throw error == Native.ErrorTooManyPosts ? new SemaphoreFullException() : Native.Failure(error, "the semaphore");
        }

        static NtuxHandle Create(int initialCount, int maximumCount, string name, out bool createdNew)
        {
            if (maximumCount < 1)
                throw new ArgumentOutOfRangeException(nameof(maximumCount));
            if (initialCount < 0)
                throw new ArgumentOutOfRangeException(nameof(initialCount));
            if (initialCount > maximumCount)
                throw new ArgumentException("The count exceeds its maximum.");
            NtuxSession.JoinOnce();
            return NtuxHandle.Created(Native.ntw_CreateSemaphoreW(IntPtr.Zero, initialCount, maximumCount, name), name, out createdNew);
        }
    }

    /// <summary>
    /// A mutex as System.Threading.Mutex, with a name or without one. A thread owns it: what runs after an await may be another one.
    /// </summary>
    public sealed class NtuxMutex : NtuxWaitHandle
    {
        public NtuxMutex(bool initiallyOwned = false, string name = null)
            : this(initiallyOwned, name, out _)
        {
        }

        /// <param name="createdNew">False if another one has this name: it was opened, and is not owned because of this call.</param>
        /// <exception cref="WaitHandleCannotBeOpenedException">An object of another kind has this name.</exception>
        public NtuxMutex(bool initiallyOwned, string name, out bool createdNew)
            : base(Create(initiallyOwned, name, out createdNew))
        {
        }

        NtuxMutex(NtuxHandle handle)
            : base(handle)
        {
        }

        public static NtuxMutex OpenExisting(string name)
        {
            return new NtuxMutex(NtuxHandle.Opened(Native.ntw_OpenMutexW, Native.MutexModifyState, name, true));
        }

        /// <returns>False if no mutex has this name.</returns>
        public static bool TryOpenExisting(string name, out NtuxMutex result)
        {
            NtuxHandle opened = NtuxHandle.Opened(Native.ntw_OpenMutexW, Native.MutexModifyState, name, false);
            result = opened == null ? null : new NtuxMutex(opened);
            return result != null;
        }

        /// <exception cref="ApplicationException">This thread does not own it.</exception>
        public void ReleaseMutex()
        {
            if (Native.ntw_ReleaseMutex(handle) == 0)
                throw Native.Failure(Native.ntw_GetLastError(), "the mutex");
        }

        static NtuxHandle Create(bool initiallyOwned, string name, out bool createdNew)
        {
            NtuxSession.JoinOnce();
            return NtuxHandle.Created(Native.ntw_CreateMutexW(IntPtr.Zero, initiallyOwned ? 1 : 0, name), name, out createdNew);
        }
    }

    /// <summary>Closes a handle once, when no call uses it any more.</summary>
    sealed class NtuxHandle : SafeHandleZeroOrMinusOneIsInvalid
    {
        internal delegate NtuxHandle Open(uint access, int inherit, string name);

        // The runtime makes one for the result of a native function.
        NtuxHandle()
            : base(true)
        {
        }

        protected override bool ReleaseHandle()
        {
            return Native.ntw_CloseHandle(handle) != 0;
        }

        /// <summary>Directly behind the native function: the error says whether it has opened what was there.</summary>
        internal static NtuxHandle Created(NtuxHandle created, string name, out bool createdNew)
        {
            uint error = Native.ntw_GetLastError();
            if (created.IsInvalid)
                throw NoObject(error, name);
            createdNew = error != Native.ErrorAlreadyExists;
            return created;
        }

        /// <returns>Null if no object of this kind has the name, and none must have.</returns>
        internal static NtuxHandle Opened(Open open, uint modify, string name, bool must)
        {
            if (name == null)
                throw new ArgumentNullException(nameof(name));
            if (name.Length == 0)
                throw new ArgumentException("There is no name.", nameof(name));
            NtuxSession.JoinOnce();
            NtuxHandle opened = open(Native.Synchronize | modify, 0, name);
            if (!opened.IsInvalid)
                return opened;
            uint error = Native.ntw_GetLastError();
            if (must || error != Native.ErrorFileNotFound && error != Native.ErrorInvalidHandle)
                throw NoObject(error, name);
            return null;
        }

        static Exception NoObject(uint error, string name)
        {
            switch (error)
            {
                case Native.ErrorFileNotFound:
                    return new WaitHandleCannotBeOpenedException("No object has the name " + name + ".");
                case Native.ErrorInvalidHandle:
                    return new WaitHandleCannotBeOpenedException("An object of another kind has the name " + name + ".");
                case Native.ErrorPathNotFound:
                    return new DirectoryNotFoundException("A name has no backslash but in Local\\ or Global\\: " + name + ".");
                case Native.ErrorNameTooLong:
                    return new PathTooLongException("The name is too long: " + name + ".");
                default:
                    return Native.Failure(error, "the object " + name);
            }
        }
    }

    /// <summary>
    /// Functions of libntux-win. The library keeps the error of each thread itself, so it is asked directly after the call that failed;
    /// SetLastError of DllImport would read errno.
    /// </summary>
    static class Native
    {
        const string Library = "libntux-win.so.0";

        internal const uint WaitObject0 = 0, WaitAbandoned = 0x80, WaitTimedOut = 0x102, WaitFailed = 0xFFFFFFFF;
        internal const uint Synchronize = 0x100000, EventModifyState = 2, SemaphoreModifyState = 2, MutexModifyState = 1;
        internal const uint ErrorFileNotFound = 2, ErrorPathNotFound = 3, ErrorAccessDenied = 5, ErrorInvalidHandle = 6;
        internal const uint ErrorNotEnoughMemory = 8, ErrorNotSupported = 50, ErrorInvalidParameter = 87, ErrorAlreadyExists = 183;
        internal const uint ErrorNameTooLong = 206, ErrorNotOwner = 288, ErrorTooManyPosts = 298, ErrorAlreadyInitialized = 1247;

        [DllImport(Library)] internal static extern uint ntw_GetLastError();

        // Outside Windows this is UTF-8.
        [DllImport(Library, CharSet = CharSet.Ansi)] internal static extern int ntw_UseSessionNames(string session);

        [DllImport(Library, CharSet = CharSet.Unicode)]
        internal static extern NtuxHandle ntw_CreateEventW(IntPtr attributes, int manual, int signaled, string name);
        [DllImport(Library, CharSet = CharSet.Unicode)]
        internal static extern NtuxHandle ntw_OpenEventW(uint access, int inherit, string name);
        [DllImport(Library)] internal static extern int ntw_SetEvent(NtuxHandle handle);
        [DllImport(Library)] internal static extern int ntw_ResetEvent(NtuxHandle handle);

        [DllImport(Library, CharSet = CharSet.Unicode)]
        internal static extern NtuxHandle ntw_CreateSemaphoreW(IntPtr attributes, int initial, int maximum, string name);
        [DllImport(Library, CharSet = CharSet.Unicode)]
        internal static extern NtuxHandle ntw_OpenSemaphoreW(uint access, int inherit, string name);
        [DllImport(Library)] internal static extern int ntw_ReleaseSemaphore(NtuxHandle handle, int count, out int previous);

        [DllImport(Library, CharSet = CharSet.Unicode)]
        internal static extern NtuxHandle ntw_CreateMutexW(IntPtr attributes, int owned, string name);
        [DllImport(Library, CharSet = CharSet.Unicode)]
        internal static extern NtuxHandle ntw_OpenMutexW(uint access, int inherit, string name);
        [DllImport(Library)] internal static extern int ntw_ReleaseMutex(NtuxHandle handle);

        [DllImport(Library)] internal static extern uint ntw_WaitForSingleObject(NtuxHandle handle, uint milliseconds);
        [DllImport(Library)]
        internal static extern uint ntw_WaitForMultipleObjects(uint count, IntPtr[] handles, int all, uint milliseconds);
        [DllImport(Library)]
        internal static extern uint ntw_SignalObjectAndWait(NtuxHandle signal, NtuxHandle wait, uint milliseconds, int alertable);

        [DllImport(Library)] internal static extern int ntw_CloseHandle(IntPtr handle);

        /// <summary>The exception that .NET has for the error on Windows, where it has one.</summary>
        internal static Exception Failure(uint error, string what)
        {
            switch (error)
            {
                case ErrorAccessDenied:
                    return new UnauthorizedAccessException("Access is denied to " + what + ".");
                case ErrorNotEnoughMemory:
                    return new OutOfMemoryException("There is no memory for " + what + ", or there are too many objects.");
                case ErrorNotOwner:
                    return new ApplicationException("The mutex was released by a thread that does not own it.");
                case ErrorTooManyPosts:
                    return new InvalidOperationException("The semaphore has its maximum count.");
                default:
                    return new IOException("libntux-win: error " + error + ", of " + what + ".");
            }
        }
    }
}
