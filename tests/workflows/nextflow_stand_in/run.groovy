/* Run the tests of a Nextflow pipeline (*.nf.test) without Nextflow: groovy -cp . run.groovy PIPELINE_FOLDER WORK_FOLDER

   Nextflow's runtime and nf-test can only be downloaded from their own sites. Where these are out of reach, this runs
   the same files by Groovy: scripts of processes are evaluated and run by bash on staged files, outputs are collected by
   their patterns, and channels are lists. It knows the operators, directives and assertions that the pipeline uses, and
   stops at any other. It does not check Nextflow's own rules of syntax, and does not retry, cache or run in parallel. */

def folder = new File(args[0]).canonicalFile
def work = new File(args[1]).canonicalFile
def passed = 0, failed = []
folder.eachFileRecurse { file ->
    if (!file.name.endsWith('.nf.test') || file.path.contains('/.nf-test/')) return
    def suite = NfTest.read(file, folder, work)
    suite.tests.each { test ->
        try {
            suite.run(test)
            passed++
            println "  ok   ${suite.title}: ${test.title}"
        } catch (AssertionError | Exception problem) {
            failed << "$file.path: $test.title"
            println "  FAIL ${suite.title}: ${test.title}\n${problem.message}"
            if (System.getenv('TRACE')) problem.printStackTrace()
        }
    }
}
println "$passed passed, ${failed.size()} failed"
System.exit(failed || !passed ? 1 : 0)
