-- What the golden files of this folder were read from: one statement a line, on a HiveServer2 4.0.1.
-- A line after "-- golden: NAME" is a DESCRIBE whose rows are kept in NAME.jsonl, one row a line, null for NULL.
DROP DATABASE IF EXISTS h_statscheck_golden CASCADE
CREATE DATABASE h_statscheck_golden
USE h_statscheck_golden
SET hive.stats.autogather=false
SET hive.stats.column.autogather=false
CREATE TABLE plain (id int, name string COMMENT 'one\ntwo', amount decimal(10,2))
-- golden: nostats
DESCRIBE FORMATTED plain
INSERT INTO plain VALUES (1,'a',1.5),(2,'b',2.5),(3,null,3.5)
-- golden: nostats_files
DESCRIBE FORMATTED plain
-- golden: nostats_column
DESCRIBE FORMATTED plain id
ANALYZE TABLE plain COMPUTE STATISTICS
-- golden: basic
DESCRIBE FORMATTED plain
ANALYZE TABLE plain COMPUTE STATISTICS FOR COLUMNS id, name
-- golden: columns
DESCRIBE FORMATTED plain
INSERT INTO plain VALUES (4,'d',4.5)
-- golden: stale
DESCRIBE FORMATTED plain
-- golden: stale_column
DESCRIBE FORMATTED plain id
ANALYZE TABLE plain COMPUTE STATISTICS NOSCAN
-- golden: noscan
DESCRIBE FORMATTED plain
ALTER TABLE plain UPDATE STATISTICS SET('numRows'='8000000000','rawDataSize'='900000000000')
-- golden: faked
DESCRIBE FORMATTED plain
ALTER TABLE plain UPDATE STATISTICS FOR COLUMN id SET('numDVs'='500000','numNulls'='0')
-- golden: faked_columns
DESCRIBE FORMATTED plain
-- golden: faked_column
DESCRIBE FORMATTED plain id
CREATE TABLE parted (id int, name string) COMMENT 'by day' PARTITIONED BY (ds string COMMENT 'day', h int)
-- golden: parted_empty
DESCRIBE FORMATTED parted
INSERT INTO parted PARTITION (ds='2024-01-01', h=1) VALUES (1,'a'),(2,'b')
INSERT INTO parted PARTITION (ds='a b=c/d', h=2) VALUES (3,'c')
-- golden: parted_nostats
DESCRIBE FORMATTED parted
-- golden: partition_nostats
DESCRIBE FORMATTED parted PARTITION (ds='2024-01-01', h=1)
ANALYZE TABLE parted PARTITION (ds='2024-01-01', h='1') COMPUTE STATISTICS FOR COLUMNS id
-- golden: parted_some
DESCRIBE FORMATTED parted
-- golden: parted_some_column
DESCRIBE FORMATTED parted id
-- golden: partition
DESCRIBE FORMATTED parted PARTITION (ds='2024-01-01', h=1)
-- golden: partition_column
DESCRIBE FORMATTED parted PARTITION (ds='2024-01-01', h=1) id
-- golden: partition_odd
DESCRIBE FORMATTED parted PARTITION (ds='a b=c/d', h=2)
ANALYZE TABLE parted COMPUTE STATISTICS
ANALYZE TABLE parted COMPUTE STATISTICS FOR COLUMNS id
-- golden: parted
DESCRIBE FORMATTED parted
-- golden: parted_column
DESCRIBE FORMATTED parted id
-- golden: parted_partition_column
DESCRIBE FORMATTED parted ds
CREATE TABLE bucketed (id int, k bigint, name string) CLUSTERED BY (id, k) SORTED BY (id ASC, k DESC) INTO 4 BUCKETS STORED AS TEXTFILE TBLPROPERTIES ('note'='x | y')
-- golden: bucketed
DESCRIBE FORMATTED bucketed
CREATE EXTERNAL TABLE ext (id int)
-- golden: external
DESCRIBE FORMATTED ext
CREATE VIEW joined AS SELECT parted.id, plain.name FROM parted JOIN plain ON parted.id = plain.id
-- golden: view
DESCRIBE FORMATTED joined
CREATE TEMPORARY TABLE mine (id int)
-- golden: temporary
DESCRIBE FORMATTED mine
CREATE TABLE keyed (id int, k int, PRIMARY KEY (id) DISABLE NOVALIDATE, CONSTRAINT h_statscheck_k UNIQUE (k) DISABLE NOVALIDATE)
-- golden: constraints
DESCRIBE FORMATTED keyed
CREATE TABLE types (a tinyint, b smallint, c int, d bigint, e float, f double, g decimal(20,3), h string, i varchar(10), j char(3), k boolean, l binary, m timestamp, n date, o array<int>, p map<string,int>, q struct<x:int,y:string>, r timestamp with local time zone)
INSERT INTO types SELECT 1Y, 2S, 3, 4L, CAST(1.5 AS float), 2.5D, 3.125, 'hello', 'var', 'cha', true, CAST('bin' AS binary), timestamp '2024-01-02 03:04:05', date '2024-01-02', array(1,2), map('a',1), named_struct('x',1,'y','z'), CAST('2024-01-02 03:04:05 UTC' AS timestamp with local time zone)
ANALYZE TABLE types COMPUTE STATISTICS FOR COLUMNS a,b,c,d,e,f,g,h,i,j,k,l,m,n
-- golden: types
DESCRIBE FORMATTED types
-- golden: type_tinyint
DESCRIBE FORMATTED types a
-- golden: type_smallint
DESCRIBE FORMATTED types b
-- golden: type_int
DESCRIBE FORMATTED types c
-- golden: type_bigint
DESCRIBE FORMATTED types d
-- golden: type_float
DESCRIBE FORMATTED types e
-- golden: type_double
DESCRIBE FORMATTED types f
-- golden: type_decimal
DESCRIBE FORMATTED types g
-- golden: type_string
DESCRIBE FORMATTED types h
-- golden: type_varchar
DESCRIBE FORMATTED types i
-- golden: type_char
DESCRIBE FORMATTED types j
-- golden: type_boolean
DESCRIBE FORMATTED types k
-- golden: type_binary
DESCRIBE FORMATTED types l
-- golden: type_timestamp
DESCRIBE FORMATTED types m
-- golden: type_date
DESCRIBE FORMATTED types n
-- golden: type_array
DESCRIBE FORMATTED types o
-- golden: type_map
DESCRIBE FORMATTED types p
-- golden: type_struct
DESCRIBE FORMATTED types q
-- golden: type_timestamptz
DESCRIBE FORMATTED types r
DROP DATABASE h_statscheck_golden CASCADE
