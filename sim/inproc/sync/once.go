package sync

import "sync/atomic"

// Once is sync.Once.
type Once struct {
	done atomic.Bool
	m    Mutex
}

// Do calls f if it is the first call of o.Do. Other calls wait until f has returned.
func (o *Once) Do(f func()) {
	if o.done.Load() {
		return
	}
	o.m.Lock()
	defer o.m.Unlock()
	if !o.done.Load() {
		defer o.done.Store(true)
		f()
	}
}

// OnceFunc returns a function that calls f once. If f panics, each call panics with the same value.
func OnceFunc(f func()) func() {
	once := OnceValue(func() struct{} {
		f()
		return struct{}{}
	})
	return func() { once() }
}

// OnceValue returns a function that calls f once, and returns what f returned.
func OnceValue[T any](f func() T) func() T {
	once := OnceValues(func() (T, struct{}) { return f(), struct{}{} })
	return func() T {
		v, _ := once()
		return v
	}
}

// OnceValues returns a function that calls f once, and returns what f returned.
func OnceValues[T1, T2 any](f func() (T1, T2)) func() (T1, T2) {
	var (
		once     Once
		returned bool
		panicked any
		v1       T1
		v2       T2
	)
	return func() (T1, T2) {
		once.Do(func() {
			defer func() {
				if !returned {
					panicked = recover()
					panic(panicked)
				}
			}()
			v1, v2 = f()
			returned = true
		})
		if !returned {
			panic(panicked)
		}
		return v1, v2
	}
}
