package event

// Image is a shared object that the program has loaded. From now on, blocks and addresses
// may be in it.
type Image struct {
	Path string // as the program sees it
	Base uint64 // what to add to the addresses in the file
	Late bool   // loaded by dlopen and not at the start
	Data []byte // the content of the file; must not be changed

	Digest [32]byte // SHA-256 of Data
}

// ImageObserver is an [Observer] that wants to know the shared objects.
type ImageObserver interface {
	Observer
	// Load is called once for each shared object, before the first batch that may use it.
	Load(images []Image) error
}

// Load passes shared objects to an observer, if it is an [ImageObserver].
func Load(o Observer, images []Image) error {
	if l, ok := o.(ImageObserver); ok {
		return l.Load(images)
	}
	return nil
}

// Load implements [ImageObserver]: it passes the objects to those observers that
// implement it.
func (t tee) Load(images []Image) error {
	for _, o := range t {
		if err := Load(o, images); err != nil {
			return err
		}
	}
	return nil
}
