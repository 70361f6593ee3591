package recorder

func (r *Recorder) writeExtra(end bool) error {
	if r.opts.Extra == nil {
		return nil
	}
	for _, x := range r.opts.Extra(end) {
		if err := r.w.Append(x.Kind, x.Thread, x.Payload); err != nil {
			return err
		}
	}
	return nil
}
