// Package dynamicfilter tells, for each join, which side's keys could remove rows of the other before they are shuffled or joined, whether
// Hive's plan does so, and if not, which rule or setting is in the way. Hive does it in two ways: dynamic partition pruning, where the key is
// a partition column of the side that is filtered, and dynamic semijoin reduction (minimum, maximum and a Bloom filter of the keys) elsewhere.
package dynamicfilter
