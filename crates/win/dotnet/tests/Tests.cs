// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Tests of NtuxWaitHandles.cs. The other processes are this program with two arguments: what they do, and the session. Each ends when its
// standard input does, so none is left behind.
using System;
using System.Diagnostics;
using System.IO;
using System.IO.MemoryMappedFiles;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;
using Ntux;

static class Tests
{
    const int Rounds = 2000;

    static string session;
    static int failures;

    static int Main(string[] arguments)
    {
        if (arguments.Length == 2)
            return Other(arguments[0], arguments[1]);
        session = "test-of-ntux-dotnet-" + Process.GetCurrentProcess().Id;
        Runs(WhatTheRuntimeRefuses);
        // It joins the session of the others.
        Runs(SessionsAreOne);
        Runs(EventsAndSemaphoresBetweenProcesses);
        Runs(AMutexOfAnotherProcessInWaits);
        Runs(AKilledOwner);
        Runs(AMutexExcludes);
        Runs(CreatedOrOpened);
        Runs(Kinds);
        Runs(Names);
        Runs(TimesAndArguments);
        Runs(WaitsForAllAreOneStep);
        Runs(SignalsAndWaits);
        Runs(ThreadsOwnMutexes);
        Runs(DisposedTwice);
        Runs(DisposedWhileAThreadWaits);
        Runs(OpenedAndClosedAThousandTimes);
        Runs(ForgottenHandlesAreClosed);
        Runs(TheRuntimesOwnWaits);
        Runs(CancelledWaits);
        Runs(TheExampleOfTheNote);
        Console.WriteLine(failures == 0 ? "all passed" : failures + " checks failed");
        return failures == 0 ? 0 : 1;
    }

    static void WhatTheRuntimeRefuses()
    {
        Throws<PlatformNotSupportedException>(() => new EventWaitHandle(false, EventResetMode.AutoReset, session));
        Throws<PlatformNotSupportedException>(() => new Semaphore(0, 1, session));
        Throws<PlatformNotSupportedException>(() => EventWaitHandle.OpenExisting(session));
        Throws<PlatformNotSupportedException>(() => Semaphore.OpenExisting(session));
        using (var mutex = new Mutex(false, session))
        using (var set = new ManualResetEvent(true))
        {
            Throws<PlatformNotSupportedException>(() => WaitHandle.WaitAny(new WaitHandle[] { mutex, set }));
            Throws<PlatformNotSupportedException>(() => WaitHandle.WaitAll(new WaitHandle[] { mutex, set }));
        }
    }

    static void SessionsAreOne()
    {
        Throws<ArgumentException>(() => NtuxSession.Join("a/b"));
        NtuxSession.Join(session);
        NtuxSession.Join(session);
        Throws<InvalidOperationException>(() => NtuxSession.Join("another"));
    }

    static void EventsAndSemaphoresBetweenProcesses()
    {
        using (var question = new NtuxEventWaitHandle(false, EventResetMode.AutoReset, "question"))
        using (var answer = new NtuxSemaphore(0, 3, "answer"))
        using (var other = new OtherProcess("answers"))
        {
            Is(false, answer.WaitOne(0));
            Is(true, question.Set());
            Is(true, answer.WaitOne());
            Is(true, answer.WaitOne());
            Is(false, question.WaitOne(0));
            Is(0, other.Ended());
            Is(0, answer.Release(3));
            Throws<SemaphoreFullException>(() => answer.Release());
            Is(true, answer.WaitOne());
            Is(2, answer.Release());
        }
        // The names ended with the last handles.
        Throws<WaitHandleCannotBeOpenedException>(() => NtuxEventWaitHandle.OpenExisting("question"));
        Throws<WaitHandleCannotBeOpenedException>(() => NtuxSemaphore.OpenExisting("answer"));
    }

    static int Answers()
    {
        using (NtuxEventWaitHandle question = NtuxEventWaitHandle.OpenExisting("Local\\question"))
        using (NtuxSemaphore answer = NtuxSemaphore.OpenExisting("answer"))
        {
            Console.WriteLine("ready");
            Is(true, question.WaitOne());
            Is(0, answer.Release(2));
        }
        return failures;
    }

    static void AMutexOfAnotherProcessInWaits()
    {
        using (var mutex = new NtuxMutex(false, "mutex"))
        using (var release = new NtuxEventWaitHandle(false, EventResetMode.AutoReset, "release"))
        using (var set = new NtuxEventWaitHandle(true, EventResetMode.ManualReset))
        using (var other = new OtherProcess("owns"))
        {
            Is(false, mutex.WaitOne(0));
            Is(1, NtuxWaitHandle.WaitAny(mutex, set));
            Is(WaitHandle.WaitTimeout, NtuxWaitHandle.WaitAny(new WaitHandle[] { mutex, release }, 0));
            Is(false, NtuxWaitHandle.WaitAll(new WaitHandle[] { set, mutex }, 0));
            Throws<ApplicationException>(mutex.ReleaseMutex);
            Is(true, release.Set());
            Is(true, NtuxWaitHandle.WaitAll(set, mutex));
            Is(0, other.Ended());
            Is(0, NtuxWaitHandle.WaitAny(mutex, set));
            mutex.ReleaseMutex();
            mutex.ReleaseMutex();
            Throws<ApplicationException>(mutex.ReleaseMutex);
        }
    }

    static int Owns()
    {
        using (var mutex = new NtuxMutex(true, "mutex", out bool createdNew))
        using (NtuxEventWaitHandle release = NtuxEventWaitHandle.OpenExisting("release"))
        {
            Is(false, createdNew);
            Is(true, mutex.WaitOne(0));
            Console.WriteLine("ready");
            Is(true, release.WaitOne());
            mutex.ReleaseMutex();
        }
        return failures;
    }

    static void AKilledOwner()
    {
        using (var mutex = new NtuxMutex(false, "mutex"))
        using (var release = new NtuxEventWaitHandle(false, EventResetMode.AutoReset, "release"))
        using (var set = new NtuxEventWaitHandle(true, EventResetMode.ManualReset))
        {
            Abandoned(-1, release, () => mutex.WaitOne());
            mutex.ReleaseMutex();
            Abandoned(1, release, () => NtuxWaitHandle.WaitAny(release, mutex));
            mutex.ReleaseMutex();
            Abandoned(-1, release, () => NtuxWaitHandle.WaitAll(set, mutex));
            mutex.ReleaseMutex();
            // It was said once.
            Is(true, mutex.WaitOne(0));
            mutex.ReleaseMutex();
        }
    }

    static void Abandoned(int index, NtuxEventWaitHandle release, Action wait, [CallerLineNumber] int line = 0)
    {
        using (var other = new OtherProcess("owns"))
        {
            // While this thread waits, so that its wait ends because of the kill.
            var kill = new Thread(() => { Thread.Sleep(50); other.Kill(); });
            kill.Start();
            AbandonedMutexException thrown = Throws<AbandonedMutexException>(wait, line);
            Is(index, thrown == null ? 0 : thrown.MutexIndex, line);
            kill.Join();
        }
    }

    static void AMutexExcludes()
    {
        using (var mutex = new NtuxMutex(false, "counted"))
        using (var begin = new NtuxEventWaitHandle(false, EventResetMode.ManualReset, "begin"))
        using (var counter = new Counter())
        using (var one = new OtherProcess("counts"))
        using (var two = new OtherProcess("counts"))
        {
            begin.Set();
            counter.Count(mutex);
            Is(0, one.Ended());
            Is(0, two.Ended());
            Is(3 * Rounds, counter.Value);
        }
        File.Delete(Counter.Place);
    }

    static int Counts()
    {
        using (NtuxMutex mutex = NtuxMutex.OpenExisting("counted"))
        using (NtuxEventWaitHandle begin = NtuxEventWaitHandle.OpenExisting("begin"))
        using (var counter = new Counter())
        {
            Console.WriteLine("ready");
            begin.WaitOne();
            counter.Count(mutex);
        }
        return failures;
    }

    static void CreatedOrOpened()
    {
        bool isNew, isNewAgain;
        using (new NtuxEventWaitHandle(true, EventResetMode.ManualReset, "event", out isNew))
        using (var second = new NtuxEventWaitHandle(false, EventResetMode.AutoReset, "event", out isNewAgain))
        {
            Is(true, isNew);
            Is(false, isNewAgain);
            // State and mode are those of the first one.
            Is(true, second.WaitOne(0));
            Is(true, second.WaitOne(0));
            Is(true, second.Reset());
            Is(false, second.WaitOne(0));
        }
        using (new NtuxSemaphore(1, 1, "semaphore", out isNew))
        using (var second = new NtuxSemaphore(5, 5, "semaphore", out isNewAgain))
        {
            Is(true, isNew);
            Is(false, isNewAgain);
            Throws<SemaphoreFullException>(() => second.Release());
        }
        using (var first = new NtuxMutex(true, "mutex", out isNew))
        using (var second = new NtuxMutex(true, "mutex", out isNewAgain))
        {
            Is(true, isNew);
            Is(false, isNewAgain);
            second.ReleaseMutex();
            Throws<ApplicationException>(first.ReleaseMutex);
        }
        using (new NtuxMutex(false, null, out isNew))
        using (new NtuxMutex(false, null, out isNewAgain))
            Is(true, isNew && isNewAgain);
    }

    static void Kinds()
    {
        using (new NtuxEventWaitHandle(false, EventResetMode.AutoReset, "kind"))
        {
            Throws<WaitHandleCannotBeOpenedException>(() => new NtuxMutex(false, "kind"));
            Throws<WaitHandleCannotBeOpenedException>(() => new NtuxSemaphore(0, 1, "kind"));
            Throws<WaitHandleCannotBeOpenedException>(() => NtuxMutex.OpenExisting("kind"));
            Throws<WaitHandleCannotBeOpenedException>(() => NtuxSemaphore.OpenExisting("kind"));
            Is(false, NtuxMutex.TryOpenExisting("kind", out NtuxMutex mutex));
            Is(null, mutex);
            Is(false, NtuxSemaphore.TryOpenExisting("kind", out _));
            Is(true, NtuxEventWaitHandle.TryOpenExisting("kind", out NtuxEventWaitHandle opened));
            opened.Dispose();
        }
        Is(false, NtuxEventWaitHandle.TryOpenExisting("kind", out _));
        Throws<WaitHandleCannotBeOpenedException>(() => NtuxMutex.OpenExisting("kind"));
    }

    static void Names()
    {
        using (new NtuxMutex(false, "Größe\u4e2d"))
        using (new NtuxMutex(false, "Global\\name"))
        {
            Is(true, NtuxMutex.TryOpenExisting("Local\\Größe\u4e2d", out NtuxMutex opened));
            opened.Dispose();
            Is(false, NtuxMutex.TryOpenExisting("größe\u4e2d", out _));
            Is(false, NtuxMutex.TryOpenExisting("name", out _));
        }
        Throws<DirectoryNotFoundException>(() => new NtuxMutex(false, "a\\b"));
        Throws<PathTooLongException>(() => new NtuxMutex(false, new string('a', 100000)));
        Throws<ArgumentNullException>(() => NtuxMutex.OpenExisting(null));
        Throws<ArgumentException>(() => NtuxMutex.OpenExisting(""));
    }

    static void TimesAndArguments()
    {
        using (var unset = new NtuxEventWaitHandle(false, EventResetMode.AutoReset))
        {
            WaitHandle handle = unset;
            var many = new WaitHandle[65];
            Is(false, handle.WaitOne(20));
            Is(false, handle.WaitOne(TimeSpan.FromMilliseconds(20)));
            Is(false, handle.WaitOne(20, false));
            Is(false, handle.WaitOne(TimeSpan.Zero, false));
            Is(WaitHandle.WaitTimeout, NtuxWaitHandle.WaitAny(new[] { handle }, TimeSpan.FromMilliseconds(20)));
            Is(false, NtuxWaitHandle.WaitAll(new[] { handle }, TimeSpan.FromMilliseconds(20)));
            unset.Set();
            Is(true, handle.WaitOne());
            unset.Set();
            Is(true, handle.WaitOne(Timeout.InfiniteTimeSpan));
            Throws<ArgumentOutOfRangeException>(() => handle.WaitOne(-2));
            Throws<ArgumentOutOfRangeException>(() => handle.WaitOne(TimeSpan.FromMilliseconds(-2)));
            Throws<ArgumentOutOfRangeException>(() => handle.WaitOne(TimeSpan.MaxValue));
            Throws<ArgumentOutOfRangeException>(() => NtuxWaitHandle.WaitAny(new[] { handle }, -2));
            Throws<ArgumentNullException>(() => NtuxWaitHandle.WaitAny(null));
            Throws<ArgumentNullException>(() => NtuxWaitHandle.WaitAny(handle, null));
            Throws<ArgumentException>(() => NtuxWaitHandle.WaitAny());
            Throws<NotSupportedException>(() => NtuxWaitHandle.WaitAny(many));
            Throws<DuplicateWaitObjectException>(() => NtuxWaitHandle.WaitAll(new[] { handle, handle }, 0));
        }
        Throws<ArgumentException>(() => new NtuxEventWaitHandle(false, (EventResetMode)2));
        Throws<ArgumentOutOfRangeException>(() => new NtuxSemaphore(-1, 1));
        Throws<ArgumentOutOfRangeException>(() => new NtuxSemaphore(0, 0));
        Throws<ArgumentException>(() => new NtuxSemaphore(2, 1));
        using (var semaphore = new NtuxSemaphore(0, 1))
            Throws<ArgumentOutOfRangeException>(() => semaphore.Release(0));
    }

    static void WaitsForAllAreOneStep()
    {
        using (var set = new NtuxEventWaitHandle(true, EventResetMode.AutoReset))
        using (var semaphore = new NtuxSemaphore(0, 1))
        using (var mutex = new NtuxMutex())
        {
            // Nothing is taken as long as one is missing.
            Is(false, NtuxWaitHandle.WaitAll(new WaitHandle[] { set, mutex, semaphore }, 0));
            Throws<ApplicationException>(mutex.ReleaseMutex);
            semaphore.Release();
            Is(true, NtuxWaitHandle.WaitAll(set, mutex, semaphore));
            Is(false, set.WaitOne(0));
            Is(false, semaphore.WaitOne(0));
            mutex.ReleaseMutex();
        }
    }

    static void SignalsAndWaits()
    {
        using (var ping = new NtuxEventWaitHandle(false, EventResetMode.AutoReset))
        using (var pong = new NtuxSemaphore(0, 1))
        using (var mutex = new NtuxMutex())
        {
            var other = new Thread(() =>
            {
                ping.WaitOne();
                for (int round = 1; round < Rounds; ++round)
                    NtuxWaitHandle.SignalAndWait(pong, ping);
                pong.Release();
            });
            other.Start();
            for (int round = 0; round < Rounds; ++round)
                Is(true, NtuxWaitHandle.SignalAndWait(ping, pong));
            other.Join();
            Is(false, NtuxWaitHandle.SignalAndWait(ping, pong, 0, false));
            pong.Release();
            Throws<InvalidOperationException>(() => NtuxWaitHandle.SignalAndWait(pong, ping));
            Throws<ApplicationException>(() => NtuxWaitHandle.SignalAndWait(mutex, ping));
            Is(true, NtuxWaitHandle.SignalAndWait(ping, pong, TimeSpan.Zero, false));
        }
    }

    static void ThreadsOwnMutexes()
    {
        using (var mutex = new NtuxMutex(true))
        {
            InAThread(() =>
            {
                Throws<ApplicationException>(mutex.ReleaseMutex);
                Is(false, mutex.WaitOne(0));
            });
            mutex.ReleaseMutex();
            InAThread(() => Is(true, mutex.WaitOne()));
            Throws<AbandonedMutexException>(() => mutex.WaitOne());
            mutex.ReleaseMutex();
        }
    }

    static void DisposedTwice()
    {
        using (var semaphore = new NtuxSemaphore(1, 1, "disposed"))
        using (var another = new NtuxEventWaitHandle(true, EventResetMode.ManualReset))
        {
            semaphore.Dispose();
            semaphore.Dispose();
            semaphore.Close();
            Throws<ObjectDisposedException>(() => semaphore.WaitOne(0));
            Throws<ObjectDisposedException>(() => semaphore.Release());
            Throws<ObjectDisposedException>(() => NtuxWaitHandle.WaitAny(another, semaphore));
            Throws<ObjectDisposedException>(() => NtuxWaitHandle.SignalAndWait(another, semaphore));
            Is(false, NtuxSemaphore.TryOpenExisting("disposed", out _));
            // The wait that was refused has let go of the other one.
            Is(0, NtuxWaitHandle.WaitAny(another));
        }
    }

    static void DisposedWhileAThreadWaits()
    {
        Is(true, EndsThoughDisposed(handle => handle.WaitOne()));
        Is(true, EndsThoughDisposed(handle => NtuxWaitHandle.WaitAll(handle)));
        Is(false, NtuxEventWaitHandle.TryOpenExisting("waited", out _));
    }

    // Nothing says that a thread has begun to wait, so one that came too late is given more time.
    static bool EndsThoughDisposed(Func<WaitHandle, bool> wait)
    {
        for (int pause = 25; pause < 10000; pause *= 2)
        {
            using (var set = new NtuxEventWaitHandle(false, EventResetMode.ManualReset, "waited"))
            {
                NtuxEventWaitHandle disposed = NtuxEventWaitHandle.OpenExisting("waited");
                bool hasEnded = false;
                var thread = new Thread(() =>
                {
                    try
                    {
                        hasEnded = wait(disposed);
                    }
                    catch (ObjectDisposedException)
                    {
                    }
                });
                thread.Start();
                Thread.Sleep(pause);
                disposed.Dispose();
                set.Set();
                thread.Join();
                if (hasEnded)
                    return true;
            }
        }
        return false;
    }

    static void OpenedAndClosedAThousandTimes()
    {
        for (int round = 0; round < 1000; ++round)
        {
            using (var created = new NtuxEventWaitHandle(false, EventResetMode.AutoReset, "often", out bool createdNew))
            using (NtuxEventWaitHandle opened = NtuxEventWaitHandle.OpenExisting("often"))
            {
                Is(true, createdNew);
                opened.Set();
                Is(true, created.WaitOne(0));
            }
        }
        Is(false, NtuxEventWaitHandle.TryOpenExisting("often", out _));
    }

    static void ForgottenHandlesAreClosed()
    {
        InAThread(() => new NtuxMutex(false, "forgotten"));
        GC.Collect();
        GC.WaitForPendingFinalizers();
        Is(false, NtuxMutex.TryOpenExisting("forgotten", out _));
    }

    static void TheRuntimesOwnWaits()
    {
        using (var ours = new NtuxEventWaitHandle(true, EventResetMode.ManualReset))
        using (var theirs = new ManualResetEvent(true))
        {
            Throws<ArgumentException>(() => NtuxWaitHandle.WaitAny(ours, theirs));
            Throws<ArgumentException>(() => NtuxWaitHandle.SignalAndWait(ours, theirs));
            Throws<ObjectDisposedException>(() => WaitHandle.WaitAny(new WaitHandle[] { theirs, ours }));
            Throws<ObjectDisposedException>(() => WaitHandle.WaitAll(new WaitHandle[] { theirs, ours }));
            Throws<ObjectDisposedException>(() => WaitHandle.SignalAndWait(theirs, ours));
            Throws<ObjectDisposedException>(() => ThreadPool.RegisterWaitForSingleObject(ours, (state, late) => { }, null, -1, true));
            Is(true, ours.SafeWaitHandle.IsClosed);
        }
    }

    static void CancelledWaits()
    {
        using (var source = new CancellationTokenSource())
        using (var never = new NtuxSemaphore(0, 1))
        using (var cancelled = new NtuxEventWaitHandle(false, EventResetMode.ManualReset))
        using (source.Token.Register(() => cancelled.Set()))
        {
            source.CancelAfter(20);
            Is(1, NtuxWaitHandle.WaitAny(never, cancelled));
        }
    }

    // docs/win/dotnet.md shows this; the other process orders, and stops it.
    static void TheExampleOfTheNote()
    {
        int done = 0;
        var other = new OtherProcess("orders");

        using (var work = new NtuxSemaphore(0, int.MaxValue, "shop.work"))
        using (var stop = new NtuxEventWaitHandle(false, EventResetMode.ManualReset, "shop.stop"))
        using (var books = new NtuxMutex(false, "shop.books"))
        {
            while (NtuxWaitHandle.WaitAny(work, stop) == 0)
            {
                try
                {
                    books.WaitOne();
                }
                catch (AbandonedMutexException)
                {
                    // The mutex is this thread's. A process that was killed with it may have left the books half written.
                }
                ++done;
                books.ReleaseMutex();
            }
        }

        Is(3, done);
        other.Dispose();
    }

    static int Orders()
    {
        using (var work = new NtuxSemaphore(3, int.MaxValue, "shop.work"))
        using (var stop = new NtuxEventWaitHandle(true, EventResetMode.ManualReset, "shop.stop"))
        {
            Console.WriteLine("ready");
            Thread.Sleep(Timeout.Infinite);
        }
        return failures;
    }

    static int Other(string does, string joins)
    {
        var untilTheEnd = new Thread(() => { Console.In.ReadToEnd(); Environment.Exit(3); });
        untilTheEnd.IsBackground = true;
        untilTheEnd.Start();
        session = joins;
        NtuxSession.Join(joins);
        switch (does)
        {
            case "answers": return Answers();
            case "owns": return Owns();
            case "counts": return Counts();
            case "orders": return Orders();
            default: return 2;
        }
    }

    /// <summary>Another process, which is ready.</summary>
    sealed class OtherProcess : IDisposable
    {
        readonly Process process;

        internal OtherProcess(string does)
        {
            string program = Assembly.GetExecutingAssembly().Location;
            process = Process.Start(new ProcessStartInfo
            {
                FileName = Process.GetCurrentProcess().MainModule.FileName,
                Arguments = "exec \"" + program + "\" " + does + " " + session,
                UseShellExecute = false,
                RedirectStandardInput = true,
                RedirectStandardOutput = true,
            });
            if (process.StandardOutput.ReadLine() != "ready")
                throw new InvalidOperationException("The other process is not ready.");
        }

        internal int Ended()
        {
            process.WaitForExit();
            return process.ExitCode;
        }

        internal void Kill()
        {
            process.Kill();
            process.WaitForExit();
        }

        public void Dispose()
        {
            process.StandardInput.Close();
            process.WaitForExit();
            process.Dispose();
        }
    }

    /// <summary>A number in memory that processes share, which only a lock makes right.</summary>
    sealed class Counter : IDisposable
    {
        internal static string Place => Path.Combine(Path.GetTempPath(), session);

        readonly MemoryMappedFile file;
        readonly MemoryMappedViewAccessor memory;

        internal Counter()
        {
            file = MemoryMappedFile.CreateFromFile(Place, FileMode.OpenOrCreate, null, sizeof(int));
            memory = file.CreateViewAccessor();
        }

        internal int Value => memory.ReadInt32(0);

        internal void Count(NtuxMutex mutex)
        {
            for (int round = 0; round < Rounds; ++round)
            {
                mutex.WaitOne();
                int value = Value;
                if (round % 16 == 0)
                    Thread.Yield();
                memory.Write(0, value + 1);
                mutex.ReleaseMutex();
            }
        }

        public void Dispose()
        {
            memory.Dispose();
            file.Dispose();
        }
    }

    static void Runs(Action test)
    {
        int before = failures;
        try
        {
            test();
        }
        catch (Exception exception)
        {
            ++failures;
            Console.WriteLine(exception);
        }
        Console.WriteLine(test.Method.Name + (failures == before ? " passed" : " FAILED"));
    }

    static void InAThread(Action action)
    {
        var thread = new Thread(() => action());
        thread.Start();
        thread.Join();
    }

    static void Is<T>(T expected, T found, [CallerLineNumber] int line = 0)
    {
        if (Equals(expected, found))
            return;
        Interlocked.Increment(ref failures);
        // Standard output of another process says that it is ready.
        Console.Error.WriteLine("line " + line + ": " + found + ", expected " + expected);
    }

    static T Throws<T>(Action action, [CallerLineNumber] int line = 0) where T : Exception
    {
        string instead = "nothing was thrown";
        try
        {
            action();
        }
        catch (T exception) when (exception.GetType() == typeof(T))
        {
            return exception;
        }
        catch (Exception exception)
        {
            instead = exception.ToString();
        }
        Interlocked.Increment(ref failures);
        Console.Error.WriteLine("line " + line + ": " + typeof(T).Name + " expected, " + instead);
        return null;
    }
}
