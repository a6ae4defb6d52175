// Routes of an API gateway: a method and a path with parameters.

// The parameters of a path that matches a pattern such as /users/:id, else undefined.
export function match(pattern, path) {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return undefined;
  const parameters = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index];
    if (part.startsWith(":")) parameters[part.slice(1)] = decodeURIComponent(value);
    else if (part !== value) return undefined;
  }
  return parameters;
}

// The first route that matches answers.
export class Router {
  #routes = [];

  on(method, pattern, answer) {
    this.#routes.push({ method, pattern, answer });
    return this;
  }

  // TODO: answer HEAD like GET.
  answer({ method, path }) {
    for (const route of this.#routes) {
      if (route.method !== method) continue;
      const parameters = match(route.pattern, path);
      if (parameters !== undefined) return route.answer(parameters);
    }
    return { status: 404, body: `There is no ${method} ${path}.` };
  }
}
