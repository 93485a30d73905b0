# What has been made: attributes by address, for references.
made = {}


def value(item):
    """A value with references resolved."""
    if isinstance(item, dict):
        return {key: value(entry) for key, entry in item.items()}
    if isinstance(item, list):
        return [value(entry) for entry in item]
    if isinstance(item, str):
        match = re.fullmatch(r"\$\{([\w-]+)\.([^}]+)\.([\w]+)\}", item)
        if match:
            return made[match[1], match[2]][match[3]]
        return re.sub(r"\$\{([\w-]+)\.([^}]+)\.([\w]+)\}", lambda m: str(made[m[1], m[2]][m[3]]), item)
    return item


def references(item):
    if isinstance(item, dict):
        return set().union(*(references(entry) for entry in item.values())) if item else set()
    if isinstance(item, list):
        return set().union(*(references(entry) for entry in item)) if item else set()
    if isinstance(item, str):
        return {(match[0], match[1]) for match in re.findall(r"\$\{([\w-]+)\.([^}]+)\.[\w]+\}", item)}
    return set()


def tag_list(tags):
    return [{"Key": key, "Value": text} for key, text in (tags or {}).items()]


def specification(kind, attributes):
    return [{"ResourceType": kind, "Tags": tag_list(attributes.get("tags"))}]


def document(policy):
    return policy if isinstance(policy, str) else json.dumps(policy)
