package flowcontrol

import (
	"fmt"
	"math"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/flowcontrolv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The resource prioritylevelconfigurations and its validation. A priority level is Exempt (its
// requests always run) or Limited (its requests wait or are refused when its share is used up). The
// texts of errors are those of Kubernetes' pkg/apis/flowcontrol/validation.

// priorityLevels declares the resource prioritylevelconfigurations. Its status subresource writes
// nothing but the status.
func priorityLevels() registry.Resource {
	return registry.Typed(registry.ResourceOf[*flowcontrolv1.PriorityLevelConfiguration]{
		GroupResource: resource("prioritylevelconfigurations"),
		Kind:          "PriorityLevelConfiguration",
		Strategy: registry.StrategyOf[*flowcontrolv1.PriorityLevelConfiguration]{
			Metadata:                 registry.MetaObject,
			Validate:                 checkPriorityLevel,
			AllowUnconditionalUpdate: true,
		},
		Generation: []string{"spec"},
		Status: &registry.StatusOf[*flowcontrolv1.PriorityLevelConfiguration]{
			Prepare:     keepMeta[*flowcontrolv1.PriorityLevelConfiguration],
			Validate:    checkPriorityLevelStatus,
			ResetFields: []string{"metadata", "spec"},
		},
		Table: &registry.TableOf[*flowcontrolv1.PriorityLevelConfiguration]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Type", "Whether the requests are limited.", 0),
				registry.Column("NominalConcurrencyShares", "Share of the requests that the server handles at once.",
					0),
				registry.Column("Queues", "Number of queues in which requests wait.", 0),
				registry.Column("HandSize", "Number of queues of one flow.", 0),
				registry.Column("QueueLengthLimit", "Number of requests that may wait in one queue.", 0),
				registry.AgeColumn,
			},
			Cells: priorityLevelCells,
		},
	})
}

// priorityLevelCells returns the cells of a table's row. Cells about queues are <none> for a level
// without them.
func priorityLevelCells(pl *flowcontrolv1.PriorityLevelConfiguration, now time.Time) []any {
	var shares, queues, hand, length any = registry.None, registry.None, registry.None, registry.None
	if l := pl.Spec.Limited; l != nil {
		shares = int64(scheme.OrZero(l.NominalConcurrencyShares))
		if q := l.LimitResponse.Queuing; q != nil {
			queues, hand, length = int64(q.Queues), int64(q.HandSize), int64(q.QueueLengthLimit)
		}
	}
	return []any{pl.Name, string(pl.Spec.Type), shares, queues, hand, length, registry.Age(&pl.ObjectMeta, now)}
}

// zeroSharesAnnotation marks an object of v1beta3 whose share of 0 is meant, because there 0 also
// stood for the default. v1 tells the two apart, so the annotation is forbidden.
const zeroSharesAnnotation = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"

// checkPriorityLevel validates a level.
func checkPriorityLevel(pl, _ *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	var errs field.ErrorList
	if _, ok := pl.Annotations[zeroSharesAnnotation]; ok {
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "annotations"),
			"annotation '"+zeroSharesAnnotation+"' is forbidden"))
	}
	errs = append(errs, checkPriorityLevelSpec(pl.Name, &pl.Spec)...)
	return append(errs, checkMandatoryLevel(pl)...)
}

// checkPriorityLevelStatus validates the status.
func checkPriorityLevelStatus(pl, _ *flowcontrolv1.PriorityLevelConfiguration) field.ErrorList {
	typeOf := func(c *flowcontrolv1.PriorityLevelConfigurationCondition) string { return string(c.Type) }
	return checkConditions(pl.Status.Conditions, typeOf)
}

// checkPriorityLevelSpec validates the spec of the level of that name. Only the level "exempt" has
// the type Exempt, and a level has only the field that belongs to its type.
func checkPriorityLevelSpec(name string, spec *flowcontrolv1.PriorityLevelConfigurationSpec) field.ErrorList {
	p := field.NewPath("spec")
	var errs field.ErrorList
	if (name == flowcontrolv1.NameExempt) != (spec.Type == flowcontrolv1.PriorityLevelEnablementExempt) {
		errs = append(errs,
			field.Invalid(p.Child("type"), spec.Type, "must be 'Exempt' if and only if `name` is 'exempt'"))
	}
	limited, exempt := p.Child("limited"), p.Child("exempt")
	switch spec.Type {
	case flowcontrolv1.PriorityLevelEnablementExempt:
		if spec.Limited != nil {
			errs = append(errs, field.Forbidden(limited, "must be nil if the type is not Limited"))
		}
		if e := spec.Exempt; e != nil {
			errs = append(errs, checkShares(exempt, e.NominalConcurrencyShares)...)
			errs = append(errs, checkLendable(exempt, e.LendablePercent)...)
		}
	case flowcontrolv1.PriorityLevelEnablementLimited:
		if spec.Exempt != nil {
			errs = append(errs, field.Forbidden(exempt, "must be nil if the type is Limited"))
		}
		if spec.Limited == nil {
			return append(errs, field.Required(limited, "must not be empty when type is Limited"))
		}
		errs = append(errs, checkLimited(limited, spec.Limited)...)
	default:
		errs = append(errs, check.OneOf(p.Child("type"), spec.Type,
			flowcontrolv1.PriorityLevelEnablementExempt, flowcontrolv1.PriorityLevelEnablementLimited)...)
	}
	return errs
}

// checkShares checks a weight, which may be 0.
func checkShares(p *field.Path, shares *int32) field.ErrorList {
	if shares != nil && *shares < 0 {
		return field.ErrorList{field.Invalid(p.Child("nominalConcurrencyShares"), *shares,
			"must be a non-negative integer")}
	}
	return nil
}

// checkLendable checks the part of its share that a level lends to others, in percent.
func checkLendable(p *field.Path, percent *int32) field.ErrorList {
	if percent == nil {
		return nil
	}
	return check.InRange(p.Child("lendablePercent"), *percent, 0, 100)
}

// checkLimited checks a level of the type Limited. It may borrow more than 100 percent of its own
// share.
func checkLimited(p *field.Path, l *flowcontrolv1.LimitedPriorityLevelConfiguration) field.ErrorList {
	errs := checkShares(p, l.NominalConcurrencyShares)
	errs = append(errs, checkResponse(p.Child("limitResponse"), &l.LimitResponse)...)
	errs = append(errs, checkLendable(p, l.LendablePercent)...)
	if n := l.BorrowingLimitPercent; n != nil && *n < 0 {
		errs = append(errs,
			field.Invalid(p.Child("borrowingLimitPercent"), *n, "if specified, must be a non-negative integer"))
	}
	return errs
}

// checkResponse checks what happens to a request when the level's share is used up.
func checkResponse(p *field.Path, r *flowcontrolv1.LimitResponse) field.ErrorList {
	queuing := p.Child("queuing")
	switch r.Type {
	case flowcontrolv1.LimitResponseTypeReject:
		if r.Queuing != nil {
			return field.ErrorList{field.Forbidden(queuing, "must be nil if limited.limitResponse.type is not Limited")}
		}
		return nil
	case flowcontrolv1.LimitResponseTypeQueue:
		if r.Queuing == nil {
			return field.ErrorList{field.Required(queuing,
				"must not be empty if limited.limitResponse.type is Limited")}
		}
		return checkQueuing(queuing, r.Queuing)
	}
	return check.OneOf(p.Child("type"), r.Type, flowcontrolv1.LimitResponseTypeQueue,
		flowcontrolv1.LimitResponseTypeReject)
}

const (
	maxQueues = 10_000_000 // as in Kubernetes
	// maxEntropy is the number of bits of a flow's hash that shuffle sharding can use. Dealing a
	// hand of handSize queues out of q takes handSize*log2(q) bits.
	maxEntropy = 60
)

// checkQueuing checks the queues of a level. A flow uses handSize of them, chosen by a hash of the
// flow (shuffle sharding), so that a flow with many requests fills few of the queues of another
// flow.
func checkQueuing(p *field.Path, q *flowcontrolv1.QueuingConfiguration) field.ErrorList {
	errs := checkPositive(p.Child("queueLengthLimit"), q.QueueLengthLimit)
	errs = append(errs, checkPositive(p.Child("queues"), q.Queues)...)
	if q.Queues > maxQueues {
		errs = append(errs,
			field.Invalid(p.Child("queues"), q.Queues, fmt.Sprintf("must not be greater than %d", maxQueues)))
	}
	hand := p.Child("handSize")
	errs = append(errs, checkPositive(hand, q.HandSize)...)
	entropy := math.Ceil(math.Log2(float64(q.Queues)) * float64(q.HandSize))
	switch {
	case q.HandSize <= 0:
	case q.HandSize > q.Queues:
		errs = append(errs,
			field.Invalid(hand, q.HandSize, fmt.Sprintf("should not be greater than queues (%d)", q.Queues)))
	case entropy > maxEntropy:
		errs = append(errs, field.Invalid(hand, q.HandSize, fmt.Sprintf(
			"required entropy bits of deckSize %d and handSize %d should not be greater than %d", q.Queues, q.HandSize,
			maxEntropy)))
	}
	return errs
}

// checkPositive checks that n is at least 1.
func checkPositive(p *field.Path, n int32) field.ErrorList {
	if n <= 0 {
		return field.ErrorList{field.Invalid(p, n, "must be positive")}
	}
	return nil
}
