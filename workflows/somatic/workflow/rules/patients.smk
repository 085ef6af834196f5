# The table of samples: which are of one patient, and which of them are normals.

samples = table(config["samples"], "samples", ["sample", "patient", "type"])
for name, default in (
    ("patient", samples["sample"]),
    ("type", "tumour"),
):
    samples[name] = samples[name].fillna(default) if name in samples else default
samples = samples.set_index("sample", drop=False)
check_samples(samples)
check_short_reads()

IS_NORMAL = samples["type"] == "normal"
SAMPLES = list(samples.index)
PATIENTS = list(dict.fromkeys(samples["patient"][~IS_NORMAL]))
PANEL_SAMPLES = list(samples.index[IS_NORMAL]) if config["call"]["make_panel"] else []


def check_patients():
    """Report what cannot be called, before any job starts."""
    path, call = config["samples"], config["call"]
    if not PATIENTS:
        raise WorkflowError(f"{path}: no sample is of type tumour")
    alone = sorted(set(samples["patient"]) - set(PATIENTS))
    if alone and not call["make_panel"]:
        raise WorkflowError(
            f"{path}: patient {alone[0]} has a normal but no tumour; call.make_panel makes use of it"
        )
    if call["make_panel"] and call["panel_of_normals"]:
        raise WorkflowError(
            "call.make_panel makes a panel of normals, and call.panel_of_normals names one: give one of them"
        )
    if call["make_panel"] and len(PANEL_SAMPLES) < 2:
        raise WorkflowError(
            f"{path}: a panel needs two normals or more, and there are {len(PANEL_SAMPLES)}"
        )


check_patients()


wildcard_constraints:
    patient="|".join(map(re.escape, PATIENTS)),


def samples_of(patient):
    """Tumours, then normals."""
    own = samples[samples["patient"] == patient]
    return [
        *own.index[own["type"] == "tumour"],
        *own.index[own["type"] == "normal"],
    ]


def called_of(wildcards):
    return expand(CALLED, sample=samples_of(wildcards.patient))


def normals_of(wildcards):
    """The names of a patient's normals, as options."""
    own = samples_of(wildcards.patient)
    return [word for name in own if IS_NORMAL[name] for word in ("--normal", name)]


def calls_of(sample):
    """The calls of a sample's patient, or of a normal that is there for the panel alone."""
    patient = samples.loc[sample]["patient"]
    return (
        f"results/vcf/{patient}.vcf.gz"
        if patient in PATIENTS
        else f"results/normals/{sample}.vcf.gz"
    )


PANEL = (
    "results/panel_of_normals.vcf.gz"
    if PANEL_SAMPLES
    else config["call"]["panel_of_normals"]
)
KNOWN = [  # before the reads are seen, as options
    word
    for option, path in (
        ("--population", config["call"]["population"]),
        ("--panel-of-normals", PANEL),
    )
    if path
    for word in (option, path)
]
