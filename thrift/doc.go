package thrift
