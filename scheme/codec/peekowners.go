package codec

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
)

// PeekOwners reads who owns an object out of its encoded metadata. The garbage collector calls it
// for each change of each object (server/loops/ownership), so it decodes nothing and stops after
// metadata.

// Ownership is what an encoded object says about its owners and its deletion. Its strings refer to
// the data that was looked at, unless they contain escapes.
type Ownership struct {
	// UID and Namespace are those of the object itself.
	UID, Namespace string
	// Deleting says that metadata has a deletionTimestamp.
	Deleting bool
	// Owners and Finalizers are in the order of the data. The slices are reused if the Ownership
	// is.
	Owners     []OwnerRef
	Finalizers []string
}

// OwnerRef is an encoded meta.OwnerReference, without its field controller.
type OwnerRef struct {
	APIVersion, Kind, Name, UID string
	Blocks                      bool // blockOwnerDeletion
}

// PeekOwners looks into the metadata of an encoded object, JSON or protobuf of any kind, and
// overwrites all of out. It reads no further than metadata, and allocates only when the slices of
// out must grow. It returns an error if data is malformed up to that point. data must not change
// while out is in use.
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

// ownersPeeker is the state of one look at JSON.
type ownersPeeker struct {
	peeker
	out *Ownership
}

// part names the part of an object that is being read.
type part uint8

const (
	inMetadata part = iota
	inOwners
	inOwner
	inFinalizers
)

// object reads an object; a value of another type is skipped.
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

// array reads an array; a value of another type is skipped.
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

// text reads a string; a value of another type is skipped.
func (l *ownersPeeker) text(to *string) (err error) {
	if l.Next() != '"' {
		return l.Skip()
	}
	*to, err = l.Str()
	return err
}

// top reads the members of the object up to and including metadata.
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

// metadata reads one member of metadata.
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

// owner reads one member of an owner reference into the last element of Owners.
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

// Field numbers of ObjectMeta and OwnerReference. metadata is field 1 of every kind.
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

// proto looks into an object encoded as protobuf, in its envelope.
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

// protoMetadata reads one length-delimited field of ObjectMeta.
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

// proto reads an OwnerReference.
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
