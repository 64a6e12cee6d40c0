package tally

import (
	. "sync"
)

type sums struct {
	mu   Mutex
	done WaitGroup
	n    int
}

func (s *sums) add(list ...int) int {
	defer s.done.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range list {
		s.n += v
	}
	return s.n
}

func addOf[T int | int8](s *sums, v T, _ error) { s.add(int(v)) }

const three = 3

// Forms starts a goroutine by each form of a go statement, and gives the sum of what they add: 1 + 2 + ... + 10.
func Forms() int {
	s := &sums{}
	s.done.Add(10)
	v, by := 1, s.add
	go s.add(v)
	v = 2
	go by(v)
	go addOf(s, int8(three), nil)
	go addOf[int](
		s, // whose sum it is
		4,
		nil,
	)
	go func() int { return s.add(5) }()
	go func(v int) {
		go func() { s.add(v + 1) }()
		s.add(v)
	}(6)
	list := []int{8}
	go s.add(list...)
	if v == 2 {
		go s.add([]int{three, three, three}...)
	}
	for i := range 1 {
	again:
		switch {
		case i == 0:
			go s.add(i, 10)
			i++
			goto again
		}
	}
	by = nil
	s.done.Wait()
	return s.n
}
