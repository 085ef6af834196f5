/** Items in a list; a value channel has one, which any number of tasks can read. */
class Channel {
    List items
    boolean single = false

    static Channel of(Object... items) { new Channel(items: items as List) }

    static Channel fromPath(Map options = [:], path) { of(Pipeline.file(options, path)) }

    /** The item as the closure's parameters: a tuple is spread if there is more than one. */
    static apply(Closure closure, item) { closure.maximumNumberOfParameters > 1 ? closure.call(*item) : closure.call(item) }

    Channel map(Closure closure) { new Channel(items: items.collect { apply(closure, it) }, single: single) }

    Channel first() { new Channel(items: items.take(1), single: true) }

    Channel splitCsv(Map options) {
        assert options == [header: true]
        def rows = []
        items.each { file ->
            def lines = file.readLines().findAll()
            def names = lines[0].split(',', -1)
            lines.drop(1).each { line -> rows << [names, line.split(',', -1)].transpose().collectEntries() }
        }
        new Channel(items: rows)
    }

    /** Tuples of two channels whose first elements are the same. */
    Channel join(Channel other) {
        new Channel(items: items.collectMany { left ->
            other.items.findAll { it[0] == left[0] }.collect { right -> left + right.drop(1) }
        })
    }

    /** One tuple for each first element, with lists of the others. */
    Channel groupTuple() {
        new Channel(items: items.groupBy { it[0] }.collect { key, rows -> [key] + rows.collect { it.drop(1) }.transpose() })
    }
}
