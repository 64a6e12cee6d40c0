package main

import (
	"os"
	"sync"
	"time"
)

var balance, amount = 1000, 3

//go:noinline
func withdraw() {
	b := balance
	if b > 0 {
		b -= amount
	}
	balance = b
}

func main() {
	var wg sync.WaitGroup
	for range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 100 {
				withdraw()
			}
		}()
	}
	wg.Wait()
	if balance != 400 {
		os.Exit(3)
	}
	time.Sleep(time.Hour)
}
