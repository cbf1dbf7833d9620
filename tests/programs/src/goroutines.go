// Goroutines that compute, share channels and collect garbage:  goroutines ROUNDS
package main

/*
#include <stdlib.h>
*/
import "C"

import (
	"crypto/sha256"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
)

func sieve(limit int) int {
	marked := make([]bool, limit)
	count := 0
	for i := 2; i < limit; i++ {
		if marked[i] {
			continue
		}
		count++
		for k := i * i; k < limit; k += i {
			marked[k] = true
		}
	}
	return count
}

func sortWords(seed int) string {
	words := make([]string, 2000)
	for i := range words {
		words[i] = "word" + strconv.Itoa((i*7919+seed)%100003)
	}
	sort.Strings(words)
	return words[len(words)/2]
}

func main() {
	rounds, _ := strconv.Atoi(os.Args[1])
	C.free(C.malloc(1)) // links the C library dynamically
	results := make(chan string, 8)
	for g := 0; g < 8; g++ {
		go func(g int) {
			digest := sha256.New()
			for i := 0; i < rounds; i++ {
				fmt.Fprint(digest, sieve(50000), sortWords(i), strings.Repeat("text", 10000))
			}
			results <- fmt.Sprintf("%d %x", g, digest.Sum(nil))
		}(g)
	}
	lines := []string{}
	for g := 0; g < 8; g++ {
		lines = append(lines, <-results)
	}
	sort.Strings(lines)
	fmt.Println(strings.Join(lines, "\n"))
}
