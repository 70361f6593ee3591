// Package coverage describes what a schedule made a program do, in a form that can be
// compared between the runs of an exploration: the class of the run, and which pairs of
// conflicting operations it executed in which order.
//
// The class is a hash of the run's happens-before relation with everything that the
// threads executed: the Mazurkiewicz trace over the synchronisation operations, as in
// Musuvathi and Qadeer, "Partial-order reduction for context-bounded state exploration"
// (MSR-TR-2007-12). Each thread and each synchronisation object has a hash. An operation
// that acquires mixes the object's hash into the thread's. One that releases adds the
// thread's to the object's. Operations that do not order each other leave the hashes the
// same whichever comes first. So two runs of one class have the same races by
// happens-before. The reverse need not hold: when in doubt, runs are in different classes.
//
// The pairs consist of two instructions (or calls of synchronisation functions) with which
// different threads accessed the same memory or object one after another, at least one of
// them writing: the inter-thread dependences of Yu, Narayanasamy, Pereira and Pokam,
// "Maple: A Coverage-Driven Testing Tool for Multithreaded Programs" (OOPSLA 2012, section
// 3).
//
// An [Observer] belongs to one run at a time.
package coverage
