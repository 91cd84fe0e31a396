package thrift

// Method is a call of TCLIService, or MethodUnknown for a name that HiveServer2 4.0.1 does not have.
type Method uint8

// The methods of TCLIService.thrift.
const (
	MethodUnknown Method = iota
	OpenSession
	CloseSession
	GetInfo
	ExecuteStatement
	GetTypeInfo
	GetCatalogs
	GetSchemas
	GetTables
	GetTableTypes
	GetColumns
	GetFunctions
	GetPrimaryKeys
	GetCrossReference
	GetOperationStatus
	CancelOperation
	CloseOperation
	GetResultSetMetadata
	FetchResults
	GetDelegationToken
	CancelDelegationToken
	RenewDelegationToken
	GetQueryID
	SetClientInfo
	UploadData
	DownloadData
	methodCount
)

var methodNames = [methodCount]string{
	MethodUnknown:         "unknown",
	OpenSession:           "OpenSession",
	CloseSession:          "CloseSession",
	GetInfo:               "GetInfo",
	ExecuteStatement:      "ExecuteStatement",
	GetTypeInfo:           "GetTypeInfo",
	GetCatalogs:           "GetCatalogs",
	GetSchemas:            "GetSchemas",
	GetTables:             "GetTables",
	GetTableTypes:         "GetTableTypes",
	GetColumns:            "GetColumns",
	GetFunctions:          "GetFunctions",
	GetPrimaryKeys:        "GetPrimaryKeys",
	GetCrossReference:     "GetCrossReference",
	GetOperationStatus:    "GetOperationStatus",
	CancelOperation:       "CancelOperation",
	CloseOperation:        "CloseOperation",
	GetResultSetMetadata:  "GetResultSetMetadata",
	FetchResults:          "FetchResults",
	GetDelegationToken:    "GetDelegationToken",
	CancelDelegationToken: "CancelDelegationToken",
	RenewDelegationToken:  "RenewDelegationToken",
	GetQueryID:            "GetQueryId",
	SetClientInfo:         "SetClientInfo",
	UploadData:            "UploadData",
	DownloadData:          "DownloadData",
}

// methodsByLength are the methods whose names have so many characters.
var methodsByLength = func() (by [keptName + 1][]Method) {
	for m := MethodUnknown + 1; m < methodCount; m++ {
		n := len(methodNames[m])
		by[n] = append(by[n], m)
	}
	return by
}()

// methodOf is the method of a name of at most keptName characters.
func methodOf(name []byte) Method {
	for _, m := range methodsByLength[len(name)] {
		if string(name) == methodNames[m] {
			return m
		}
	}
	return MethodUnknown
}

// String is the name on the wire.
func (m Method) String() string {
	if m < methodCount {
		return methodNames[m]
	}
	return methodNames[MethodUnknown]
}

// watched reports whether calls and replies of m are copied and decoded.
func (m Method) watched() bool {
	switch m {
	case OpenSession, CloseSession, ExecuteStatement, GetOperationStatus, CancelOperation, CloseOperation:
		return true
	default:
		return false
	}
}

// catalogue reports whether m is one of the calls that describe the catalogue and begin an operation beside
// ExecuteStatement.
func (m Method) catalogue() bool { return m >= GetTypeInfo && m <= GetCrossReference }
