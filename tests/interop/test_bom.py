# SPDX-License-Identifier: Apache-2.0
"""Bills of materials and attestations against the validators that others wrote: CycloneDX's own schema,
the checks of SPDX's tools, and the messages of in-toto. They live in an environment of their own,
out/venv-bom."""
import hashlib
import json
import shutil
import subprocess
import sys
import zipfile

import pytest

from conftest import DATA, ROOT

VALIDATE = {
    "cyclonedx": """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
assert error is None, error
""",
    "spdx": """
import sys
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
found = validate_full_spdx_document(parse_file(sys.argv[1]), "SPDX-2.3")
assert not found, found
""",
    "statement": """
import sys
from google.protobuf.json_format import MessageToDict, Parse, ParseDict
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
statement = Parse(open(sys.argv[1]).read(), statement_pb2.Statement())
Statement.copy_from_pb(statement).validate()
assert statement.predicate_type == "https://slsa.dev/provenance/v1"
predicate = ParseDict(MessageToDict(statement)["predicate"], provenance_pb2.Provenance())
assert predicate.run_details.builder.id == "https://example.com/ci"
assert predicate.build_definition.build_type
assert [d.digest["sha256"] for d in predicate.build_definition.resolved_dependencies]
""",
}


@pytest.fixture(scope="session")
def validator():
    """A Python that has the validators; the test is skipped where they cannot be had."""
    needs = ROOT / "tests" / "interop" / "requirements-bom.txt"
    venv = ROOT / "out" / "venv-bom"
    stamp = venv / "requirements.txt"
    if not stamp.exists() or stamp.read_text() != needs.read_text():
        shutil.rmtree(venv, ignore_errors=True)
        done = subprocess.run([sys.executable, "-m", "venv", venv], capture_output=True)
        if done.returncode == 0:
            done = subprocess.run([venv / "bin" / "pip", "install", "--quiet", "--requirement", needs],
                                  capture_output=True)
        if done.returncode != 0:
            pytest.skip("the validators could not be installed from the package index")
        shutil.copy(needs, stamp)

    def validate(form, path):
        done = subprocess.run([venv / "bin" / "python", "-c", VALIDATE[form], path],
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
    return validate


@pytest.fixture
def files(tmp_path, mpack):
    """Libraries with and without provenance, a package of odd names, what TVM exported, a blob."""
    mpack("build", DATA / "example" / "mpack.toml", "-o", tmp_path / "with.so", "--provenance")
    manifest = tmp_path / "odd.toml"
    manifest.write_text('[package]\nname = "a \\"b\\" <c>"\n[[module]]\n'
                        'id = "x"\nkind = "my \\u0007 kind"\npayload = "odd name \\u00e4.bin"\n')
    (tmp_path / "odd name \u00e4.bin").write_bytes(b"payload")
    mpack("build", manifest, "-o", tmp_path / "odd.so", "--provenance")
    return [tmp_path / "with.so", tmp_path / "odd.so", DATA / "formats" / "06_relax_vm.so",
            DATA / "embedded" / "embedded.so", DATA / "formats" / "14_llvm_noblob.so",
            DATA / "formats" / "01_opencl_scale.blob", DATA / "formats" / "12_syslib_prefix.tar"]


@pytest.mark.parametrize("form", ["cyclonedx", "spdx"])
def test_sbom(tmp_path, minspect, validator, files, form):
    for i, path in enumerate(files):
        text = minspect(f"--sbom={form}", path).stdout
        document = tmp_path / f"{i}.spdx.json"
        document.write_text(text)
        validator(form, document)
        assert text == minspect(f"--sbom={form}", path).stdout
        assert hashlib.sha256(path.read_bytes()).hexdigest() in text
        if path.name == "with.so":
            assert hashlib.sha256((DATA / "example" / "vadd.ptx").read_bytes()).hexdigest() in text


@pytest.mark.parametrize("form", ["cyclonedx", "spdx"])
def test_sbom_of_several(tmp_path, minspect, validator, files, form):
    """A wheel, a folder and a list of files: one document each, which has all of their libraries."""
    folder = tmp_path / "folder"
    folder.mkdir()
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as z:
        for path in files[:4]:
            z.write(path, "p/" + path.name)
            shutil.copy(path, folder)
    for i, paths in enumerate([[tmp_path / "a.whl"], [folder], files[:4]]):
        text = minspect(f"--sbom={form}", *paths).stdout
        document = tmp_path / f"set{i}.spdx.json"
        document.write_text(text)
        validator(form, document)
        for path in files[:4]:
            assert hashlib.sha256(path.read_bytes()).hexdigest() in text


def test_statement(tmp_path, minspect, validator, files):
    for path in files[:2]:
        text = minspect("--attestation", "--builder", "https://example.com/ci", path).stdout
        document = tmp_path / "statement.json"
        document.write_text(text)
        validator("statement", document)
        statement = json.loads(text)
        assert statement["subject"] == [{
            "name": path.name,
            "digest": {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}}]
        predicate = json.loads(minspect("--attestation=predicate", "--builder",
                                        "https://example.com/ci", path).stdout)
        assert statement["predicate"] == predicate
