package flowcontrolv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// zeroSharesAnnotation says in v1beta3 that a level has no shares on purpose: the version cannot
// tell 0 from unset.
const zeroSharesAnnotation = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"

const defaultShares = 30

// addStored registers the versions in which objects may be stored although nobody is served in
// them. They have the fields of v1, but v1beta1 and v1beta2 have an older name for the shares of a
// level, and none of the versions can tell 0 shares from unset.
func addStored(s *scheme.Scheme) {
	add := func(version, kind string, obj meta.Typed) {
		s.AddStored(meta.GroupVersionKind{Group: GroupVersion.Group, Version: version, Kind: kind},
			GroupVersion.WithKind(kind).GroupKind(), obj)
	}
	for _, version := range []string{"v1beta1", "v1beta2", "v1beta3"} {
		add(version, "FlowSchema", &FlowSchema{})
	}
	add("v1beta1", "PriorityLevelConfiguration", &levelBeta{})
	add("v1beta2", "PriorityLevelConfiguration", &levelBeta{})
	add("v1beta3", "PriorityLevelConfiguration", &levelBeta3{})
	scheme.AddDefaulting(s, func(l *limitedBeta) {
		defaultZero(&l.NominalConcurrencyShares)
		scheme.SetPointer(&l.LendablePercent, 0)
	})
	scheme.AddDefaulting(s, defaultLevelBeta3)
	scheme.AddConversion(s, func(in *levelBeta3, out *PriorityLevelConfiguration) error {
		err := scheme.ConvertFields(s, in, out)
		delete(out.Annotations, zeroSharesAnnotation)
		return err
	})
}

type levelBeta struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            levelSpecBeta                    `json:"spec,omitempty" pb:"2"`
	Status          PriorityLevelConfigurationStatus `json:"status,omitempty" pb:"3"`
}

type levelSpecBeta struct {
	Type    PriorityLevelEnablement           `json:"type" pb:"1"`
	Limited *limitedBeta                      `json:"limited,omitempty" pb:"2"`
	Exempt  *ExemptPriorityLevelConfiguration `json:"exempt,omitempty" pb:"3"`
}

type limitedBeta struct {
	NominalConcurrencyShares *int32        `json:"assuredConcurrencyShares" pb:"1"`
	LimitResponse            LimitResponse `json:"limitResponse,omitempty" pb:"2"`
	LendablePercent          *int32        `json:"lendablePercent,omitempty" pb:"3"`
	BorrowingLimitPercent    *int32        `json:"borrowingLimitPercent,omitempty" pb:"4"`
}

type levelBeta3 PriorityLevelConfiguration

// defaultLevelBeta3 comes before the defaults of what the level holds, which take 0 shares for
// said.
func defaultLevelBeta3(l *levelBeta3) {
	limited := l.Spec.Limited
	if limited == nil {
		return
	}
	if _, meant := l.Annotations[zeroSharesAnnotation]; meant {
		scheme.SetPointer(&limited.NominalConcurrencyShares, 0)
		return
	}
	defaultZero(&limited.NominalConcurrencyShares)
}

// defaultZero takes 0 shares for unset.
func defaultZero(shares **int32) {
	scheme.SetPointer(shares, defaultShares)
	scheme.SetDefault(*shares, defaultShares)
}
