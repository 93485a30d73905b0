// Planjson reads a plan in Terraform's JSON form from standard input, as policy tools do, and
// prints for each resource what will be done to it.
package main

import (
	"fmt"
	"io"
	"os"
	"sort"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	var plan tfjson.Plan
	if err := plan.UnmarshalJSON(text); err != nil {
		return fmt.Errorf("the plan cannot be read: %w", err)
	}
	if err := plan.Validate(); err != nil {
		return fmt.Errorf("the plan is not valid: %w", err)
	}
	for _, change := range plan.ResourceChanges {
		if change.Type == "" || change.Name == "" || change.Change == nil {
			return fmt.Errorf("%s lacks its type, its name or its change", change.Address)
		}
		fmt.Fprintln(out, change.Address, word(change.Change.Actions))
	}
	for _, change := range plan.ResourceDrift {
		fmt.Fprintln(out, "drift", change.Address, word(change.Change.Actions))
	}
	if plan.PlannedValues != nil && plan.PlannedValues.RootModule != nil {
		addresses := make([]string, 0, len(plan.PlannedValues.RootModule.Resources))
		for _, resource := range plan.PlannedValues.RootModule.Resources {
			addresses = append(addresses, resource.Address)
		}
		sort.Strings(addresses)
		fmt.Fprintln(out, "planned", strings.Join(addresses, " "))
	}
	return nil
}

// What the library makes of the actions; a policy asks in these words.
func word(actions tfjson.Actions) string {
	switch {
	case actions.NoOp():
		return "no-op"
	case actions.Create():
		return "create"
	case actions.Read():
		return "read"
	case actions.Update():
		return "update"
	case actions.CreateBeforeDestroy():
		return "create-before-destroy"
	case actions.DestroyBeforeCreate():
		return "destroy-before-create"
	case actions.Delete():
		return "delete"
	case actions.Forget():
		return "forget"
	default:
		return fmt.Sprintf("unknown%v", actions)
	}
}
