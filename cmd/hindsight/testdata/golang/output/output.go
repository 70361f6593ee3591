// Racy values that are put out. Each function reads the variable of its name, and its
// line that says "puts" names the stream and the beginning of what it puts out there.
// The slice at that has the lines of the function that say "in", and not those that
// say "out".
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"
)

var byPrintln, bySprintf, byWrite, byBuffer, byLog, byPrint, byString, bySlice, byBool, byChannel, byExit, bySize, byNothing int

//go:noinline
func made(n int) int { return n*3 + 1 }

func println_() {
	v, other := byPrintln, made(100) // in
	fmt.Println("Println:", v)       // puts stdout:Println:
	kept = other                     // out
}

func sprintf() {
	v := bySprintf                     // in
	s := fmt.Sprintf("Sprintf: %d", v) // in
	os.Stdout.WriteString(s + "\n")    // puts stdout:Sprintf:
}

func write() {
	v := byWrite                                                                      // in
	kept = made(200)                                                                  // out
	os.Stdout.Write(append(strconv.AppendInt([]byte("Write: "), int64(v), 10), '\n')) // puts stdout:Write:
}

func buffer() {
	w := bufio.NewWriter(os.Stdout)
	v := byBuffer                     // in
	fmt.Fprintf(w, "Buffer: %d\n", v) // in
	kept = made(300)                  // out
	w.Flush()                         // puts stdout:Buffer:
}

func logs() {
	v := byLog            // in
	kept = made(400)      // out
	log.Print("Log: ", v) // puts stderr:Log:
}

func print_() {
	v := byPrint         // in
	kept = made(500)     // out
	println("Print:", v) // puts stderr:Print:
}

func string_() {
	v := byString               // in
	s := strconv.Itoa(v * 1000) // in
	println("String: " + s)     // puts stderr:19000
}

func slice() {
	v := bySlice // in
	b := []byte("Slice: 0123456789\n")
	b[7] = byte('a' + v%20) // in
	kept = made(600)        // out
	os.Stderr.Write(b)      // puts stderr:Slice:
}

func bool_() {
	v := byBool                                // in
	kept = made(700)                           // out
	print("Bool: ", v > 3, " ", uint(v), "\n") // puts stderr:Bool:
}

func channel() {
	c := make(chan int, 2)
	v := byChannel // in
	c <- v         // in
	total := 0
	go func() { c <- made(800); close(c) }() // in
	for v := range c {                       // in
		total += v // in
	}
	fmt.Println("Channel:", total) // puts stdout:Channel:
}

func size() { // the value decides how much is put out, but not what
	v := bySize
	b := []byte("Size: 0123456789\n")
	os.Stdout.Write(b[:7+v%3]) // puts stdout:Size:
	os.Stdout.Write(b[16:])
}

func nothing() {
	kept = byNothing
}

var kept int

func main() {
	log.SetFlags(0)
	for n, p := range []*int{&byPrintln, &bySprintf, &byWrite, &byBuffer, &byLog, &byPrint, &byString, &bySlice, &byBool, &byChannel, &bySize,
		&byNothing, &byExit} {
		go func() { *p = made(n) }()
	}
	time.Sleep(time.Millisecond)
	println_()
	sprintf()
	write()
	buffer()
	logs()
	print_()
	string_()
	slice()
	bool_()
	channel()
	size()
	nothing()
	os.Exit(byExit % 2)
}
