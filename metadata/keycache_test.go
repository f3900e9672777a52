package metadata

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The cache does what a list in order of use does.
func TestKeyCacheAgainstModel(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		size := rnd.IntN(6)
		c := NewKeyCache(size)
		type entry struct {
			sql  string
			meta KeyMeta
		}
		var model []entry // oldest first
		at := func(sql string) int { return slices.IndexFunc(model, func(e entry) bool { return e.sql == sql }) }
		for step := range 200 {
			sql := fmt.Sprintf("q%d", rnd.IntN(9))
			switch rnd.IntN(12) {
			case 0:
				c.Drop(sql)
				model = slices.DeleteFunc(model, func(e entry) bool { return e.sql == sql })
			case 1:
				table := fmt.Sprintf("t%d", rnd.IntN(3))
				c.DropTable(table)
				model = slices.DeleteFunc(model, func(e entry) bool { return e.meta.Table == table || e.meta.Table == "" })
			case 2:
				if rnd.IntN(5) == 0 {
					c.Clear()
					model = nil
				}
			case 3, 4, 5, 6:
				meta := KeyMeta{Table: []string{"t0", "t1", "t2", ""}[rnd.IntN(4)], Tier: fmt.Sprint(step), Routable: rnd.IntN(2) == 0}
				c.Put(sql, meta)
				if i := at(sql); i >= 0 {
					model = slices.Delete(model, i, i+1)
				}
				model = append(model, entry{sql, meta})
				model = model[max(0, len(model)-size):]
			default:
				meta, state := c.Get(sql)
				i := at(sql)
				if (state == KeyKnown) != (i >= 0) || i >= 0 && (meta.Tier != model[i].meta.Tier || meta.Routable != model[i].meta.Routable) {
					t.Fatalf("seed %d, step %d: %s: %+v %v, want %v", seed, step, sql, meta, state, model)
				}
				if i >= 0 {
					e := model[i]
					model = append(slices.Delete(model, i, i+1), e)
				}
			}
			if s := c.Stats(); s.Entries != len(model) {
				t.Fatalf("seed %d, step %d: %d entries, want %d", seed, step, s.Entries, len(model))
			}
		}
	}
}

func TestKeyCacheBoundsBytes(t *testing.T) {
	c := NewKeyCache(1 << 20)
	c.Put(strings.Repeat("x", maxKeyText+1), KeyMeta{})
	if s := c.Stats(); s.Entries != 0 {
		t.Error("a huge text is kept")
	}
	for i := range 300 {
		c.Put(fmt.Sprintf("%d%s", i, strings.Repeat("x", maxKeyText-10)), KeyMeta{})
	}
	if s := c.Stats(); s.Entries == 0 || s.Entries*(maxKeyText-10) > maxKeyBytes || s.Evicted == 0 {
		t.Errorf("%+v", s)
	}
	c.Clear()
	c.Put("a", KeyMeta{})
	if _, state := c.Get("a"); state != KeyKnown {
		t.Error("nothing is kept after Clear")
	}
}

func TestKeyCacheGetDoesNotAllocate(t *testing.T) {
	c := NewKeyCache(10)
	c.Put("a", KeyMeta{Tier: "t", Params: []KeyParam{{0, 20}}, Routable: true})
	c.Put("b", KeyMeta{})
	if n := testing.AllocsPerRun(100, func() { c.Get("a"); c.Get("b"); c.Get("c") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if s := c.Stats(); s.Hits == 0 || s.Misses == 0 {
		t.Errorf("%+v", s)
	}
}

func TestKeyCacheConcurrently(t *testing.T) {
	c := NewKeyCache(8)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(g), 4))
			for range 2000 {
				sql := fmt.Sprint(rnd.IntN(20))
				switch rnd.IntN(10) {
				case 0:
					c.DropTable("t")
				case 1, 2, 3:
					c.Put(sql, KeyMeta{Table: "t", Tier: sql})
				default:
					if meta, state := c.Get(sql); state == KeyKnown && meta.Tier != sql {
						t.Errorf("%s gives %s", sql, meta.Tier)
					}
				}
			}
		})
	}
	wg.Wait()
}
