package codec

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Ownership is what an encoded object says about who owns it and whether it is to go. Strings refer to the data looked
// at, unless they hold escapes.
type Ownership struct {
	UID, Namespace string
	// Deleting says that there is a deletionTimestamp.
	Deleting bool
	// Owners and Finalizers are in the order of the data. The slices are reused when the Ownership is.
	Owners     []OwnerRef
	Finalizers []string
}

// OwnerRef is a meta.OwnerReference.
type OwnerRef struct {
	APIVersion, Kind, Name, UID string
	Blocks                      bool // blockOwnerDeletion
}

// PeekOwners looks into the metadata of an encoded object, JSON or protobuf of whatever kind, and stores what it finds in
// out, all of which it overwrites. It reads no further than the metadata, and allocates nothing but what out's slices need to
// grow. The error is for data that is malformed as far as it was read. data must not change while out is in use.
func PeekOwners(data []byte, out *Ownership) error {
	*out = Ownership{Owners: out.Owners[:0], Finalizers: out.Finalizers[:0]}
	if IsProtobuf(data) {
		return out.proto(data)
	}
	l := ownersPeeker{peeker{Scanner: jsontext.NewScanner(data, true, nil)}, out}
	if l.Next() != '{' || l.top() != nil {
		return errNoObject
	}
	return nil
}

// ownersPeeker is one look into JSON.
type ownersPeeker struct {
	peeker
	out *Ownership
}

// part is where in an object a look is.
type part uint8

const (
	inMetadata part = iota
	inOwners
	inOwner
	inFinalizers
)

// object reads an object; whatever else there is counts as none.
func (l *ownersPeeker) object(in part) error {
	if l.Next() != '{' {
		return l.Skip()
	}
	if err := l.Open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		key, _, more, err := l.Member(first)
		if err != nil || !more {
			return err
		}
		if in == inMetadata {
			err = l.metadata(key)
		} else {
			err = l.owner(key)
		}
		if err != nil {
			return err
		}
	}
}

// array reads an array; whatever else there is counts as none.
func (l *ownersPeeker) array(in part) error {
	if l.Next() != '[' {
		return l.Skip()
	}
	if err := l.Open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := l.More(']', first)
		if err != nil || !more {
			return err
		}
		if in == inOwners {
			l.out.Owners = append(l.out.Owners, OwnerRef{})
			err = l.object(inOwner)
		} else {
			l.out.Finalizers = append(l.out.Finalizers, "")
			err = l.text(&l.out.Finalizers[len(l.out.Finalizers)-1])
		}
		if err != nil {
			return err
		}
	}
}

// text reads a string; whatever else there is counts as none.
func (l *ownersPeeker) text(to *string) (err error) {
	if l.Next() != '"' {
		return l.Skip()
	}
	*to, err = l.Str()
	return err
}

// top reads up to the end of metadata.
func (l *ownersPeeker) top() error {
	if err := l.Open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		key, _, more, err := l.Member(first)
		if err != nil || !more {
			return err
		}
		if key == "metadata" {
			return l.object(inMetadata)
		}
		if err := l.Skip(); err != nil {
			return err
		}
	}
}

func (l *ownersPeeker) metadata(key string) error {
	switch key {
	case "uid":
		return l.text(&l.out.UID)
	case "namespace":
		return l.text(&l.out.Namespace)
	case "deletionTimestamp":
		l.out.Deleting = l.Next() != 'n'
		return l.Skip()
	case "ownerReferences":
		return l.array(inOwners)
	case "finalizers":
		return l.array(inFinalizers)
	}
	return l.Skip()
}

func (l *ownersPeeker) owner(key string) error {
	ref := &l.out.Owners[len(l.out.Owners)-1]
	switch key {
	case "apiVersion":
		return l.text(&ref.APIVersion)
	case "kind":
		return l.text(&ref.Kind)
	case "name":
		return l.text(&ref.Name)
	case "uid":
		return l.text(&ref.UID)
	case "blockOwnerDeletion":
		ref.Blocks = l.Next() == 't'
	}
	return l.Skip()
}

// Fields of the messages that every kind has in common: metadata is the first field of each object.
const (
	protoMetadata          = 1
	protoNamespace         = 3
	protoUID               = 5
	protoDeletionTimestamp = 9
	protoOwnerReferences   = 13
	protoFinalizers        = 14

	protoOwnerKind       = 1
	protoOwnerName       = 3
	protoOwnerUID        = 4
	protoOwnerAPIVersion = 5
	protoOwnerBlocks     = 7
)

// proto looks into an object in its envelope.
func (o *Ownership) proto(data []byte) error {
	e, err := parseEnvelope(data)
	if err != nil {
		return err
	}
	return eachField(e.raw, func(number protowire.Number, value []byte) error {
		if number != protoMetadata {
			return nil
		}
		return eachField(value, o.protoMetadata)
	})
}

func (o *Ownership) protoMetadata(number protowire.Number, value []byte) error {
	switch number {
	case protoNamespace:
		o.Namespace = sharedText(value)
	case protoUID:
		o.UID = sharedText(value)
	case protoDeletionTimestamp:
		var t meta.Time
		err := t.ParseProto(value)
		o.Deleting = !t.IsZero()
		return err
	case protoFinalizers:
		o.Finalizers = append(o.Finalizers, sharedText(value))
	case protoOwnerReferences:
		o.Owners = append(o.Owners, OwnerRef{})
		return o.Owners[len(o.Owners)-1].proto(value)
	}
	return nil
}

func (r *OwnerRef) proto(data []byte) error {
	for len(data) > 0 {
		number, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return wireError(n)
		}
		data = data[n:]
		if n = protowire.ConsumeFieldValue(number, typ, data); n < 0 {
			return wireError(n)
		}
		value := data[:n]
		data = data[n:]
		switch typ {
		case protowire.VarintType:
			if number == protoOwnerBlocks {
				v, _ := protowire.ConsumeVarint(value)
				r.Blocks = v != 0
			}
		case protowire.BytesType:
			text, _ := protowire.ConsumeBytes(value)
			switch number {
			case protoOwnerAPIVersion:
				r.APIVersion = sharedText(text)
			case protoOwnerKind:
				r.Kind = sharedText(text)
			case protoOwnerName:
				r.Name = sharedText(text)
			case protoOwnerUID:
				r.UID = sharedText(text)
			}
		}
	}
	return nil
}
