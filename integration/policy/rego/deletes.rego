# Nothing is deleted without somebody looking at it: neither by itself nor to make room for a new one.
package main

deny contains message if {
	some change in input.resource_changes
	"delete" in change.change.actions
	message := sprintf("%s would be deleted", [change.address])
}
