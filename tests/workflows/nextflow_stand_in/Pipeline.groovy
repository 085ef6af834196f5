import org.codehaus.groovy.control.CompilerConfiguration

/** What scripts of one run share: parameters, configuration, and a folder for tasks. */
class Pipeline {
    File project
    File work
    boolean stub = false
    Config config
    int tasks = 0

    Map getParams() { config.params }

    static File file(Map options = [:], path) {
        File.metaClass.getBaseName = { -> delegate.name.replaceFirst(/\.[^.]*\$/, '') }
        def found = new File(path.toString())
        if (options.checkIfExists && !found.exists()) throw new FileNotFoundException("No such file or directory: $path")
        found
    }

    /** A script of Nextflow as an object that has its functions, processes and workflows. */
    Map load(File source) {
        def text = source.text
        def found = [:]
        def shared = [params: params, channel: Channel, projectDir: project, moduleDir: source.parentFile]
        text.eachMatch(/(?m)^include \{ (\w+)(?: as (\w+))? *\} from '(.*)'/) { all, name, alias, path ->
            found[alias ?: name] = load(new File(source.parentFile, "${path}.nf"))[name].renamed(alias ?: name)
        }
        eachBlock(text, 'process') { name, body -> found[name] = new ProcessOf(this, name, body, source.parentFile) }
        eachBlock(text, 'workflow') { name, body -> found[name] = new Workflow(this, name, body, found, shared, functions(text)) }
        found
    }

    static void eachBlock(String text, String kind, Closure closure) {
        text.eachMatch(/(?ms)^$kind (\w*) ?\{\n(.*?)^\}/) { all, name, body -> closure(name, body) }
    }

    static String functions(String text) {
        def found = []
        text.eachMatch(/(?ms)^def \w+\(.*?^\}/) { found << it }
        found.join('\n')
    }

    /** A block's text by its labels; what stands before the first one is under ''. */
    static Map sections(String body) {
        def parts = [:].withDefault { '' }, label = ''
        body.eachLine { line ->
            def found = line =~ /^    (input|output|when|script|stub|take|main|emit):\s*$/
            if (found) label = found[0][1] else parts[label] += line + '\n'
        }
        parts
    }

    /** The value of some Groovy, with variables; other names and calls go to `delegate`. */
    static evaluate(String text, Map variables, delegate = null) {
        def shell = new GroovyShell(Pipeline.classLoader, new Binding(variables), new CompilerConfiguration())
        if (delegate == null) return shell.evaluate(text)
        Closure closure = shell.evaluate("{ ->\n$text\n}")
        closure.delegate = delegate
        closure.resolveStrategy = Closure.DELEGATE_FIRST
        closure.call()
    }
}

class Workflow {
    Pipeline pipeline
    String name, functions
    Map parts, found, shared
    Map out = [:]

    Workflow(Pipeline pipeline, String name, String body, Map found, Map shared, String functions) {
        this.pipeline = pipeline
        this.name = name
        this.functions = functions
        this.found = found
        this.shared = shared
        parts = Pipeline.sections(body)
        if (!parts.main) parts.main = parts['']
    }

    Workflow renamed(String other) { name = other; this }

    def call(Object... given) {
        def names = parts.take.readLines()*.replaceAll(' *//.*', '')*.trim().findAll()
        assert names.size() == given.size(): "$name takes $names"
        def scope = shared + found + [names, given as List].transpose().collectEntries()
        scope.file = { Object... a -> a.size() > 1 ? Pipeline.file(a[0], a[1]) : Pipeline.file(a[0]) }
        scope.error = { message -> throw new IllegalStateException(message.toString()) }
        def binding = new Binding(scope)
        new GroovyShell(Pipeline.classLoader, binding).evaluate("$functions\n$parts.main")
        parts.emit.eachMatch(/(?m)^ *(\w+) = (.*)$/) { all, key, value ->
            out[key] = new GroovyShell(Pipeline.classLoader, binding).evaluate(value)
        }
    }
}
