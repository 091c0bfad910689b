#!/usr/bin/env python3
"""Is a document valid by the rules of OpenAPI 3.1?

    openapi_check.py FILE

Checks what can be checked without the schema of the specification: required and known fields of every object, parameters
of paths, references, unique ids, types of schemas, names of media types and of statuses.
"""
import json
import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
wrong = []
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
FIELDS = {
    "document": ({"openapi", "info", "paths"}, {"servers", "components", "security", "tags", "externalDocs", "webhooks"}),
    "info": ({"title", "version"}, {"summary", "description", "license", "contact", "termsOfService"}),
    "server": ({"url"}, {"description", "variables"}),
    "operation": ({"responses"}, {"summary", "description", "operationId", "parameters", "requestBody", "security", "tags", "deprecated"}),
    "parameter": ({"name", "in"}, {"description", "required", "schema", "style", "explode", "deprecated"}),
    "body": ({"content"}, {"description", "required"}),
    "response": ({"description"}, {"headers", "content", "links"}),
    "media": (set(), {"schema", "example", "examples", "encoding"}),
    "header": (set(), {"description", "required", "schema"}),
    "components": (set(), {"schemas", "responses", "securitySchemes", "parameters", "headers"}),
}


def say(where, what):
    wrong.append(f"{where}: {what}")


def fields(where, kind, value):
    if not isinstance(value, dict):
        say(where, "is no object")
        return False
    needed, known = FIELDS[kind]
    for name in needed - set(value):
        say(where, f"lacks {name}")
    for name in {n for n in value if not n.startswith("x-")} - needed - known:
        say(where, f"has the unknown field {name}")
    return True


def resolve(where, value):
    """What a reference is to."""
    if not isinstance(value, dict) or "$ref" not in value:
        return value
    if set(value) != {"$ref"}:
        say(where, "has more than its $ref")
    found = document
    for part in value["$ref"].lstrip("#/").split("/"):
        found = found.get(part) if isinstance(found, dict) else None
    if found is None:
        say(where, f"{value['$ref']} is not there")
    return found


def schema(where, value):
    value = resolve(where, value)
    if not isinstance(value, dict):
        return say(where, "is no schema")
    if value.get("type") not in ("string", "integer", "number", "boolean", "array", "object"):
        say(where, f"type {value.get('type')}")
    if value.get("type") == "array":
        schema(where + ".items", value.get("items"))
    for name in value.get("required", []):
        if name not in value.get("properties", {}):
            say(where, f"requires {name}, which it does not describe")
    for name, inner in value.get("properties", {}).items():
        schema(f"{where}.{name}", inner)
    if "pattern" in value:
        re.compile(value["pattern"])
    if value.get("minimum", 0) > value.get("maximum", float("inf")):
        say(where, "minimum above maximum")
    return None


def content(where, value):
    for kind, media in value.items():
        if not re.fullmatch(r"[a-z*]+/[a-z0-9.+*-]+", kind):
            say(where, f"media type {kind}")
        if fields(f"{where} {kind}", "media", media) and "schema" in media:
            schema(f"{where} {kind}", media["schema"])


def response(where, value):
    value = resolve(where, value)
    if not fields(where, "response", value):
        return
    content(where, value.get("content", {}))
    for name, header in value.get("headers", {}).items():
        if fields(f"{where} {name}", "header", header):
            schema(f"{where} {name}", header.get("schema"))


def parameters(where, path, value):
    seen = set()
    for p in value:
        if not fields(where, "parameter", p):
            continue
        key = (p.get("name"), p.get("in"))
        if key in seen:
            say(where, f"{key} twice")
        seen.add(key)
        if p.get("in") not in ("path", "query", "header", "cookie"):
            say(where, f"{p.get('name')} is in {p.get('in')}")
        if p.get("in") == "path" and p.get("required") is not True:
            say(where, f"{p.get('name')} is not required")
        schema(f"{where} {p.get('name')}", p.get("schema"))
    named = {name for name, place in seen if place == "path"}
    if named != set(re.findall(r"\{(\w+)\}", path)):
        say(where, f"its path has other parameters than {named}")


def main():
    fields("document", "document", document)
    if not re.fullmatch(r"3\.1\.\d+", document.get("openapi", "")):
        say("document", "is not of OpenAPI 3.1")
    fields("info", "info", document.get("info"))
    for server in document.get("servers", []):
        fields("server", "server", server)
    ids, shapes, count = set(), set(), 0
    for path, item in document.get("paths", {}).items():
        shape = re.sub(r"\{\w+\}", "{}", path)
        if not path.startswith("/") or shape in shapes:
            say(path, "is no path, or the same as another")
        shapes.add(shape)
        for method, o in item.items():
            where = f"{method} {path}"
            count += 1
            if method not in METHODS or not fields(where, "operation", o):
                say(where, "is no operation")
                continue
            if o.get("operationId") in ids or not re.fullmatch(r"\w+", o.get("operationId", "")):
                say(where, f"operationId {o.get('operationId')}")
            ids.add(o.get("operationId"))
            parameters(where, path, o.get("parameters", []))
            if "requestBody" in o and fields(where, "body", o["requestBody"]):
                content(where, o["requestBody"]["content"])
            if not any(re.fullmatch(r"2\d\d|3\d\d", s) for s in o.get("responses", {})):
                say(where, "has no answer of success")
            for status, value in o.get("responses", {}).items():
                if not re.fullmatch(r"[1-5]\d\d|default", status):
                    say(where, f"status {status}")
                response(f"{where} {status}", value)
            for scheme in o.get("security", []) + document.get("security", []):
                for name in scheme:
                    if name not in document["components"]["securitySchemes"]:
                        say(where, f"scheme {name}")
    components = document.get("components", {})
    fields("components", "components", components)
    for kind in components.values():
        for name in kind:
            if not re.fullmatch(r"[a-zA-Z0-9._-]+", name):
                say("components", f"name {name}")
    print("\n".join(wrong) or f"{count} operations")
    return 1 if wrong else 0


sys.exit(main())
