import java.util.zip.GZIPInputStream

/** A file *.nf.test: what it tests, what runs before, and its tests. */
class NfTest {
    File source, project, work
    String title, script, process
    List runs = [], tests = [], configs = []
    Map prepared = [:].withDefault { [:] } // what `setup` made, with and without -stub; it is the same for each test
    static int count = 0

    static NfTest read(File source, File project, File work) {
        def suite = new NfTest(source: source, project: project, work: work)
        def top = { Closure block -> suite.inside(block, suite) }
        new GroovyShell(NfTest.classLoader, new Binding(nextflow_process: top, nextflow_pipeline: top)).evaluate(source)
        suite
    }

    def inside(Closure block, delegate) {
        block.delegate = delegate
        block.resolveStrategy = Closure.DELEGATE_FIRST
        block.call()
    }

    def name(String text) { title = text }

    def script(String path) { script = path }

    def process(String text) { process = text }

    def config(String path) { configs << path }

    def tag(String text) { }

    def setup(Closure block) { inside(block, new Expando(run: { String name, Closure inner ->
        def step = new Step([name: name], [projectDir: project])
        inside(inner, step)
        runs << step.values
    })) }

    def test(String title, Closure block) {
        def test = new Step([title: title])
        inside(block, test)
        tests << test.values
    }

    def run(Map test) {
        def place = new File(work, "test_${++count}")
        def output = new File(place, 'output')
        def pipeline = new Pipeline(project: project, work: new File(place, 'work'), stub: '-stub' in [test.options])
        pipeline.config = new Config(project: project)
        def settings = process ? [] : [new File(project, 'nextflow.config')]
        settings += new File(project, 'tests/nextflow.config')
        (settings + configs.collect { new File(source.parentFile, it) }).each { pipeline.config.read(it) }
        def known = [params: pipeline.params, channel: Channel, projectDir: project, outputDir: output, path: { new Result(it) },
                     file: { Object... a -> a.size() > 1 ? Pipeline.file(a[0], a[1]) : Pipeline.file(a[0]) }]
        def step = new Step([:], known)
        inside(test.when, step)
        def main = script.startsWith('.') ? new File(source.parentFile, script) : new File(project, script)
        def seen = new Expando(known + (process ? onProcess(pipeline, main, step, known) : onPipeline(pipeline, main, step)))
        seen.assertAll = { Closure... checks -> checks.each { check -> inside(check, seen) } }
        inside(test.then, seen)
    }

    Map onProcess(Pipeline pipeline, File main, Step step, Map known) {
        def made = prepared[pipeline.stub]
        if (!made) {
            runs.each { before ->
                made[before.name] = pipeline.load(new File(source.parentFile, before.script))[before.name]
                made[before.name].call(*inputs(before.process, known + made))
            }
        }
        def tested = pipeline.load(main)[process]
        tested.call(*inputs(step.values.process, known + made))
        def strings = tested.out.collectEntries { key, channel -> [key, plain(channel.items)] }
        [process: [success: true, out: strings]]
    }

    static Map onPipeline(Pipeline pipeline, File main, Step step) {
        pipeline.params.putAll(step.values.params ?: [:])
        try {
            pipeline.load(main)[''].call()
        } catch (IllegalStateException | FileNotFoundException problem) {
            return [workflow: [success: false, failed: true, stdout: [], stderr: problem.message.readLines()]]
        }
        [workflow: [success: true, failed: false, stdout: [], stderr: []]]
    }

    static List inputs(Closure block, Map known) {
        def input = []
        Pipeline.evaluate(block.call().toString(), known + [input: input])
        input
    }

    /** Files as paths, as nf-test gives them. */
    static plain(value) { value instanceof File ? value.path : value instanceof List ? value.collect { plain(it) } : value }
}

/** Collects what a block says: `script "..."`, `process { ... }`, `params { key = value }`, `when { ... }`. */
class Step {
    Map values, known

    Step(Map values, Map known = [:]) { this.values = values; this.known = known }

    def propertyMissing(String name) { if (name in known) known[name] else throw new MissingPropertyException(name, Step) }

    def script(String path) { values.script = path }

    def options(String text) { values.options = text }

    def process(Closure block) { values.process = block }

    def when(Closure block) { values.when = block }

    def then(Closure block) { values.then = block }

    def params(Closure block) {
        values.params = new LinkedHashMap()
        block.delegate = new Parameters(values.params, known)
        block.resolveStrategy = Closure.DELEGATE_FIRST
        block.call()
    }
}

class Parameters extends GroovyObjectSupport {
    private final Map values, known

    Parameters(Map values, Map known) {
        this.@values = values
        this.@known = known
    }

    def getProperty(String name) { this.@known[name] }

    void setProperty(String name, value) { this.@values[name] = value.toString() }
}

class Result {
    File file

    Result(path) { file = new File(path.toString()) }

    boolean exists() { file.exists() }

    List getLinesGzip() { new GZIPInputStream(file.newInputStream()).readLines() }
}
