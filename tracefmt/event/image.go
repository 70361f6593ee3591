package event

// Image is a shared object that the program has loaded: from here on blocks and
// addresses may be in it.
type Image struct {
	Path string // as the program sees it
	Base uint64 // added to every address of the file
	Late bool   // loaded by the program when it ran, not with it
	Data []byte // the file; must not be changed

	Digest [32]byte // SHA-256 of Data
}

// ImageObserver is an [Observer] that is told of shared objects.
type ImageObserver interface {
	Observer
	// Load is called once for each, before the first batch that may be about it.
	Load(images []Image) error
}

// Load tells an observer of shared objects, if it is an [ImageObserver].
func Load(o Observer, images []Image) error {
	if l, ok := o.(ImageObserver); ok {
		return l.Load(images)
	}
	return nil
}

// Load implements [ImageObserver] for those of the observers that do.
func (t tee) Load(images []Image) error {
	for _, o := range t {
		if err := Load(o, images); err != nil {
			return err
		}
	}
	return nil
}
