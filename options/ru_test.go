package options

import (
	"hash/crc32"
	"regexp"
	"strings"
	"testing"
)

// The Russian tables are made from Keys too; only their sentences stand in ru_keys_test.go. Each carries the checksum
// of the English text that it translates, so that a change of that fails until the Russian is looked at.

// russianText is a key's description in Russian.
type russianText struct {
	sum  uint32 // of the English Doc and Cost
	doc  string
	cost string // "" for "none"
}

// englishSum is what russianText.sum must be.
func englishSum(k Key) uint32 { return crc32.ChecksumIEEE([]byte(k.Doc + "\x00" + k.Cost)) }

var russianGroups = map[string]string{
	groupWho: "Куда и от чьего имени", groupNodes: "Состав узлов", groupBalance: "Балансировка", groupCapacity: "Ёмкость и сроки",
	groupRouting: "Маршрутизация", groupStatements: "Запросы", groupHealth: "Здоровье узлов", groupTLS: "TLS и безопасность", groupMirror: "Зеркалирование",
}

// russianPhrases translate types, allowed values and versions; the longest first.
var russianPhrases = strings.NewReplacer(
	"any UTF-8 text without NUL", "любой текст UTF-8 без NUL",
	"any bytes but NUL", "любые байты, кроме NUL",
	"DNS names and IP addresses, IPv6 with or without zone", "имена DNS и адреса IP, IPv6 с зоной или без",
	"tier names, each once, none of them in allowed_tiers", "имена тиров без повторов и без пересечения с allowed_tiers",
	"tier names, each once", "имена тиров без повторов",
	"SELECTOR=INT,… with SELECTOR an instance name, host:port or tier:NAME, each once, and INT ", "SELECTOR=INT,…, где SELECTOR — имя инстанса, host:port или tier:NAME без повторов, а INT — ",
	"FROM>TO,… with FROM and TO host[:port] and each FROM once", "FROM>TO,…, где FROM и TO — host[:port], а FROM не повторяется",
	"FROM>TO,… with FROM an instance name or host:port, each once, and TO host[:port]", "FROM>TO,…, где FROM — имя инстанса или host:port без повторов, а TO — host[:port]",
	"IP networks such as 10.0.0.0/8,fd00::/8, or addresses", "сети IP, например 10.0.0.0/8,fd00::/8, или адреса",
	"a DNS name or IP address", "имя DNS или адрес IP",
	"a DSN without mirror keys", "DSN без ключей mirror",
	"any; leader and replica need READ on _pico_replicaset", "любая; для leader и replica нужно право READ на _pico_replicaset",
	"25.1 for the limits, 26.1 for pico_*; unknown names have no effect", "25.1 для пределов, 26.1 для pico_*; незнакомые имена не действуют",
	"0 (no limit) to 9223372036854775807", "от 0 (без предела) до 9223372036854775807",
	"26.1; before it, READ on _pico_table", "26.1; до неё — право READ на _pico_table",
	"any for postgres; no Picodata yet for direct", "любая для postgres; direct пока не умеет ни одна Picodata",
	"duration or whole seconds", "длительность или целые секунды",
	"duration", "длительность", "boolean", "да/нет", "integer", "целое", "choice", "выбор", "number", "число", "secret", "секрет",
)

var (
	russianRange = regexp.MustCompile(`(-?[0-9][0-9a-z.]*) to ([0-9][0-9a-z.]*)`)
	latinWords   = regexp.MustCompile(`^[A-Za-z0-9_., …=\[\]<>:-]+ or [A-Za-z0-9_. …=\[\]-]+$`)
)

// russianWords translates a type, allowed values or a version.
func russianWords(text string) string {
	switch text {
	case "any":
		return "любая"
	case "list":
		return "список"
	case "text":
		return "текст"
	}
	text = russianRange.ReplaceAllString(russianPhrases.Replace(text), "от $1 до $2")
	text = strings.Replace(text, "0 or от", "0 или от", 1)
	if latinWords.MatchString(text) {
		text = strings.ReplaceAll(text, " or ", " или ")
	}
	return text
}

// russian is the language of docs/ru/configuration.md.
func russian(t *testing.T) language {
	return language{
		columns: [5]string{"Ключ", "Значение", "По умолчанию", "Сервер", "Что делает"},
		group:   func(g string) string { return russianGroups[g] },
		also:    "он же",
		cost:    "Цена",
		words:   russianWords,
		key: func(k Key) (Key, bool) {
			ru, ok := russianKeys[k.Name]
			if !ok {
				t.Errorf("ru_keys_test.go has no text for %s", k.Name)
				return k, false
			}
			if sum := englishSum(k); ru.sum != sum {
				t.Errorf("the English text of %s has changed: look at the Russian one, then set its sum to %#x", k.Name, sum)
			}
			k.Doc, k.Cost = ru.doc, ru.cost
			return k, true
		},
	}
}

func TestRussianTextsAreComplete(t *testing.T) {
	l := russian(t)
	for _, g := range groups() {
		if russianGroups[g] == "" {
			t.Errorf("no Russian heading for %q", g)
		}
	}
	for _, k := range Keys() {
		if english := k.Cost; english != "none" && russianKeys[k.Name].cost == "" {
			t.Errorf("%s: the cost isn't translated", k.Name)
		}
		if _, ok := l.key(k); ok && !strings.HasSuffix(russianKeys[k.Name].doc, ".") {
			t.Errorf("%s: the Russian text is no sentence", k.Name)
		}
		for _, text := range []string{k.Type, k.Allowed, k.Since} {
			if got := russianWords(text); regexp.MustCompile(`\b(to|or|and|with|without|each|names|of)\b`).MatchString(got) {
				t.Errorf("%s: %q is translated to %q", k.Name, text, got)
			}
		}
	}
	for name := range russianKeys {
		if _, ok := lookup(name); !ok {
			t.Errorf("ru_keys_test.go describes %s, which isn't a key", name)
		}
	}
}
