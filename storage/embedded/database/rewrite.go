package database

import (
	"errors"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
)

// openPatience is how long Rewrite waits for another process that has the file open.
const openPatience = 2 * time.Second

// Rewrite replaces a database file that no process has open by a copy without free pages, if worth
// returns true for the size of the file and the bytes that are free in it. The copy is made at the
// path temp and renamed when it is complete. After each step Rewrite calls next, whose error ends
// it. Rewrite reports whether the file has been replaced; the caller makes the rename durable.
func Rewrite(path, temp string, worth func(size, free int64) bool, next func() error) (done bool, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	from, err := bolt.Open(path, 0o600, &bolt.Options{
		ReadOnly: true, PreLoadFreelist: true, FreelistType: bolt.FreelistMapType, Timeout: openPatience,
		// the trimmer releases only a mapping of which the file fills at most half
		InitialMmapSize: int(2*info.Size()) + 1,
	})
	if err != nil {
		return false, err
	}
	defer from.Close()
	if free := int64(from.Stats().FreePageN) * int64(from.Info().PageSize); !worth(info.Size(), free) {
		return false, nil
	}
	to, err := bolt.Open(temp, 0o600, &bolt.Options{
		NoSync: true, NoGrowSync: true, NoFreelistSync: true, FreelistType: bolt.FreelistMapType,
	})
	if err != nil {
		return false, errors.Join(err, remove(temp))
	}
	err = from.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error { return rewriteBucket(to, name, b, next) })
	})
	if err == nil {
		err = to.Sync()
	}
	if err = errors.Join(err, to.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return false, errors.Join(err, remove(temp))
	}
	return true, nil
}

// rewriteBucket copies a bucket into another database.
func rewriteBucket(to *bolt.DB, name []byte, from *bolt.Bucket, next func() error) error {
	cursor := from.Cursor()
	for key, value := cursor.First(); ; {
		err := to.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists(name)
			if err != nil {
				return err
			}
			b.FillPercent = 0.9 // keys come in order
			for size := 0; key != nil && size < stepBytes && err == nil; key, value = cursor.Next() {
				size += len(key) + len(value)
				err = b.Put(key, value)
			}
			return err
		})
		if err == nil {
			err = next()
		}
		if err != nil || key == nil {
			return err
		}
	}
}

// remove removes a file that may not be there.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
