/** nextflow.config: parameters, and settings of processes by label and name. */
class Config {
    Map params = [:]
    Map defaults = [cpus: 1]
    List labelled = [], named = []
    File project

    void read(File source) {
        Integer.metaClass.getGB = { -> new Memory(bytes: delegate * (1L << 30)) }
        Integer.metaClass.getH = { -> delegate * 3600 }
        def text = source.text
            .replaceAll(/withName: *'?([^'{]+?)'? *\{/, 'withName(\'$1\') {')
            .replaceAll(/withLabel: *'?([^'{]+?)'? *\{/, 'withLabel(\'$1\') {')
        def top = new Scope(this, source, [:])
        Pipeline.evaluate(text, [projectDir: project], top)
    }

    Map of(String name, List labels) {
        def found = new LinkedHashMap(defaults)
        labelled.findAll { it[0] in labels }.each { found.putAll(it[1]) }
        named.findAll { name ==~ it[0] }.each { pattern, settings ->
            found.ext = (found.ext ?: [:]) + (settings.ext ?: [:])
            found.putAll(settings.findAll { it.key != 'ext' })
        }
        found.ext = found.ext ?: [:]
        found
    }
}

class Memory implements Comparable<Memory> {
    long bytes

    int compareTo(Memory other) { bytes <=> other.bytes }

    long getMega() { bytes >> 20 }

    Memory multiply(Number by) { new Memory(bytes: bytes * by) }
}

/** A block of the configuration: assignments go to a map, blocks inside to theirs. */
class Scope extends GroovyObjectSupport {
    private final Config config
    private final File source
    private final Map settings

    Scope(Config config, File source, Map settings) {
        this.@config = config
        this.@source = source
        this.@settings = settings
    }

    def inside(Closure block, Map settings) {
        block.delegate = new Scope(this.@config, this.@source, settings)
        block.resolveStrategy = Closure.DELEGATE_FIRST
        block.call()
    }

    def process(Closure block) { inside(block, this.@config.defaults) }

    def params(Closure block) { inside(block, this.@config.params) }

    def withName(String pattern, Closure block) {
        def settings = [:]
        inside(block, settings)
        this.@config.named << [pattern, settings]
    }

    def withLabel(String label, Closure block) {
        def settings = [:]
        inside(block, settings)
        this.@config.labelled << [label, settings]
    }

    def profiles(Closure block) { }

    def manifest(Closure block) { inside(block, [:]) }

    def includeConfig(String path) { this.@config.read(new File(this.@source.parentFile, path)) }

    def getProperty(String name) {
        if (name == 'projectDir') return this.@config.project
        if (name == 'params') return this.@config.params
        if (name == 'ext') return this.@settings.ext = this.@settings.ext ?: [:]
        throw new MissingPropertyException(name, Scope)
    }

    void setProperty(String name, value) { this.@settings[name] = value }
}
