import groovy.io.FileType
import java.nio.file.FileSystems
import java.nio.file.Files
import java.nio.file.Paths

class ProcessOf {
    Pipeline pipeline
    String name, body
    File folder
    Map parts
    Map out = [:]

    ProcessOf(Pipeline pipeline, String name, String body, File folder) {
        this.pipeline = pipeline
        this.name = name
        this.body = body
        this.folder = folder
        parts = Pipeline.sections(body)
    }

    ProcessOf renamed(String other) { new ProcessOf(pipeline, other, body, folder) }

    def call(Object... given) {
        def inputs = declarations(parts.input, [:])
        assert inputs.size() == given.size(): "$name has ${inputs.size()} inputs, got ${given.size()}"
        def channels = given.collect { it instanceof Channel ? it : new Channel(items: [it], single: true) }
        def queues = channels.findAll { !it.single }
        def count = queues ? queues*.items*.size().min() : 1
        def done = (0..<count).collect { i -> task(inputs, channels.collect { it.single ? it.items[0] : it.items[i] }) }
        declarations(parts.output, null).eachWithIndex { output, j ->
            out[output.options.emit] = new Channel(items: done.collect { it[j] }, single: !queues)
        }
    }

    /** The lines of an input or output section; variables that are not known (null: none) stay names. */
    List declarations(String text, Map variables) {
        def quoted = text.replaceAll(/(emit|topic): (\w+)/, '$1: \'$2\'')
        quoted.readLines()*.trim().findAll().collect { line ->
            Pipeline.evaluate("($line)".replaceAll(/^\((tuple|val|path) (.*)\)$/, '$1($2)'), [:], new Declaration(variables ?: [:]))
        }
    }

    List task(List inputs, List items) {
        def place = new File(pipeline.work, "${++pipeline.tasks}_$name")
        place.mkdirs()
        def variables = [:]
        [inputs, items].transpose().each { input, item ->
            def values = input.kind == 'tuple' ? item : [item]
            def kinds = input.kind == 'tuple' ? input.parts : [input]
            assert values instanceof List && values.size() == kinds.size(): "$name: $kinds cannot hold $values"
            [kinds, values].transpose().each { kind, value ->
                variables[kind.what] = kind.kind == 'path' ? stage(value, kind.options.stageAs, place) : value
            }
        }
        def settings = pipeline.config.of(name, (body =~ /label '(\w+)'/).collect { it[1] })
        def task = settings + [process: name, attempt: 1]
        def scope = variables + [params: pipeline.params, moduleDir: folder, workflow: [:]]
        scope.task = task.collectEntries { key, value -> [key, resolve(value, scope + [task: [attempt: 1]])] }
        scope.task.resourceLimits.each { key, most -> if (scope.task[key] != null) scope.task[key] = [scope.task[key], most].min() }
        if (parts.when) assert Pipeline.evaluate(parts.when, scope)
        def text = pipeline.stub ? parts.stub : parts.script
        variables.findAll { it.value instanceof List }.each { key, files -> // files in a script are separated by blanks
            text = text.replace("\${$key}", "\${${key}.join(' ')}")
        }
        def script = Pipeline.evaluate(text, new LinkedHashMap(scope)).toString()
        shell(script, place)
        def outputs = declarations(parts.output, scope)
        def made = outputs.collect { output -> collect(output, place) }
        publish(scope.task.publishDir, outputs, made, place)
        made
    }

    /** Settings that are closures, also in maps, with the variables of the task. */
    static resolve(value, Map scope) {
        if (value instanceof Map) return value.collectEntries { key, each -> [key, resolve(each, scope)] }
        if (!(value instanceof Closure)) return value
        def closure = value.clone()
        closure.delegate = scope
        closure.resolveStrategy = Closure.DELEGATE_FIRST
        closure.call()
    }

    static stage(value, String pattern, File place) {
        def links = [value].flatten().collect { source ->
            def link = new File((pattern ? pattern.replace('*', '') : '') + source.name)
            def target = new File(place, link.path)
            target.parentFile.mkdirs()
            assert !target.exists(): "two inputs are called $link"
            Files.createSymbolicLink(target.toPath(), source.canonicalFile.toPath())
            link
        }
        value instanceof List && links.size() != 1 ? links : links[0]
    }

    String shell(String script, File place) {
        new File(place, '.command.sh').text = script
        def done = new ProcessBuilder('bash', '-ue', '.command.sh').directory(place).redirectErrorStream(true).start()
        def said = done.inputStream.text
        if (done.waitFor() != 0) throw new IllegalStateException("$name ended with ${done.exitValue()}:\n$script\n$said")
        said.trim()
    }

    def collect(Declaration.Item output, File place) {
        if (output.kind == 'tuple') return output.parts.collect { collect(it, place) }
        if (output.kind == 'val') return output.what
        if (output.kind == 'eval') return shell(output.what.toString(), place)
        def matcher = FileSystems.default.getPathMatcher("glob:${output.what}")
        def found = place.listFiles().findAll {
            matcher.matches(Paths.get(it.name)) && !Files.isSymbolicLink(it.toPath())
        }.sort()
        if (!found) throw new IllegalStateException("$name: no output $output.what")
        found.size() == 1 ? found[0] : found
    }

    static void publish(Map to, List outputs, List made, File place) {
        if (!to?.path || to.enabled == false) return
        new File(to.path.toString()).mkdirs()
        made.flatten().findAll { it instanceof File && it.parentFile == place }.each { file ->
            Files.copy(file.toPath(), Paths.get(to.path.toString(), file.name))
        }
    }
}

/** Evaluates lines such as `tuple val(meta), path("*.bam"), emit: bam`. */
class Declaration {
    Map variables

    Declaration(Map variables) { this.variables = variables }

    static class Item {
        String kind
        def what
        Map options = [:]
        List parts = []
    }

    def item(String kind, Object[] given) {
        def options = given[0] instanceof Map ? given[0] : [:]
        def rest = options ? given.drop(1) : given
        new Item(kind: kind, options: options, what: rest ? rest[0] : null, parts: rest as List)
    }

    def tuple(Object... given) { item('tuple', given) }

    def val(value) { new Item(kind: 'val', what: value) }

    def path(Object... given) { item('path', given) }

    def eval(Object... given) { item('eval', given) }

    def propertyMissing(String name) {
        variables.containsKey(name) ? variables[name] : name == 'task' ? [process: ''] : name
    }
}
