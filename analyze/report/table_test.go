package report

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestTable checks that CSV and JSON have each race once, suppressed or not, with the
// numbers of the report.
func TestTable(t *testing.T) {
	r := build(t, "")
	r.Suppressed = append(r.Suppressed, r.Races[0])
	r.Suppressed[0].ID, r.Suppressed[0].SuppressedBy = "", "race:main"
	var text bytes.Buffer
	if err := r.WriteCSV(&text); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&text).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1+len(r.Races)+1 {
		t.Fatalf("%d rows of %d races and one suppressed", len(rows), len(r.Races))
	}
	for i := range r.Races {
		if row, x := rows[1+i], &r.Races[i]; row[0] != x.ID || row[5] != strconv.FormatUint(x.Dynamic, 10) || row[10] != strconv.Itoa(x.Accesses[1].Top.Line) {
			t.Errorf("row %q of %s, %d times, line %d", row, x.ID, x.Dynamic, x.Accesses[1].Top.Line)
		}
	}
	if err := r.WriteTable(&text); err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.NewCompiler().Compile("../../docs/race-table.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(&text)
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Error(err)
	}
}
