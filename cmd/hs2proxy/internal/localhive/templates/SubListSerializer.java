package org.apache.hadoop.hive.ql.exec;

import java.util.ArrayList;
import java.util.List;
import org.apache.hive.com.esotericsoftware.kryo.Kryo;
import org.apache.hive.com.esotericsoftware.kryo.Serializer;
import org.apache.hive.com.esotericsoftware.kryo.io.Input;
import org.apache.hive.com.esotericsoftware.kryo.io.Output;

/**
 * In place of the class of this name in Hive 3's jar, whose constructor looks up fields of ArrayList's sublists that Java 9
 * took away. A part of a list travels as a list of its own.
 */
final class SerializationUtilities$ArrayListSubListSerializer extends Serializer<List<?>> {
    public SerializationUtilities$ArrayListSubListSerializer() {}

    @Override
    public void write(Kryo kryo, Output output, List<?> part) {
        kryo.writeObject(output, new ArrayList<Object>(part));
    }

    @Override
    public List<?> read(Kryo kryo, Input input, Class<List<?>> type) {
        return kryo.readObject(input, ArrayList.class);
    }
}
