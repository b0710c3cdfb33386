from __future__ import annotations

import jax
import jax.numpy as jnp

from ..science import SOFTENING, differences
from .stencils import repeated

# Navier-Stokes


def advanced(un, vn, gradient, now, dt, dx, dy, nu):
    """Inside, of one component `now` = (here, west, east, south, north), after advection and diffusion."""
    here, west, east, south, north = now
    return (
        here
        - un * dt / dx * (here - west)
        - vn * dt / dy * (here - south)
        - gradient
        + nu * (dt / dx**2 * (east - 2 * here + west))
        + nu * (dt / dy**2 * (north - 2 * here + south))
    )


def neighbours(a):
    return a[1:-1, 1:-1], a[1:-1, :-2], a[1:-1, 2:], a[:-2, 1:-1], a[2:, 1:-1]


def source(u, v, rho, dt, dx, dy):
    _, west, east, south, north = u
    dudx, dudy = (east - west) / (2 * dx), (north - south) / (2 * dy)
    _, west, east, south, north = v
    dvdx, dvdy = (east - west) / (2 * dx), (north - south) / (2 * dy)
    return rho * (1 / dt * (dudx + dvdy) - dudx**2 - 2 * (dudy * dvdx) - dvdy**2)


def relaxed(p, b, dx, dy):
    _, west, east, south, north = p
    scale = 2 * (dx**2 + dy**2)
    return ((east + west) * dy**2 + (north + south) * dx**2) / scale - dx**2 * dy**2 / scale * b


def cavity_flow(u, v, p, *, steps, sweeps, rho, nu):
    ny, nx = u.shape
    dx, dy, dt = 2 / (nx - 1), 2 / (ny - 1), 0.1 / ((nx - 1) * (ny - 1))

    def step(u, v, p):
        near_u, near_v = neighbours(u), neighbours(v)
        b = source(near_u, near_v, rho, dt, dx, dy)

        def sweep(p):
            p = p.at[1:-1, 1:-1].set(relaxed(neighbours(p), b, dx, dy))
            p = p.at[:, -1].set(p[:, -2])
            p = p.at[0, :].set(p[1, :])
            p = p.at[:, 0].set(p[:, 1])
            return (p.at[-1, :].set(0.0),)

        (p,) = repeated(sweep, (p,), sweeps)
        _, west, east, south, north = neighbours(p)
        un, vn = near_u[0], near_v[0]
        u = advanced(un, vn, dt / (2 * rho * dx) * (east - west), near_u, dt, dx, dy, nu)
        v = advanced(un, vn, dt / (2 * rho * dy) * (north - south), near_v, dt, dx, dy, nu)
        return jnp.pad(u, 1).at[-1, :].set(1.0), jnp.pad(v, 1), p

    return repeated(step, (u, v, p), steps)


def channel_flow(u, v, p, *, steps, sweeps, rho, nu, force):
    """The number of steps is given: a reverse sweep through `while_loop` there is none."""
    ny, nx = u.shape
    dx, dy, dt = 2 / (nx - 1), 2 / (ny - 1), 0.1 / ((nx - 1) * (ny - 1))

    def near(a):
        """With the columns in a ring."""
        a = jnp.concatenate([a[:, -1:], a, a[:, :1]], axis=1)
        return neighbours(a)

    def step(u, v, p):
        near_u, near_v = near(u), near(v)
        b = source(near_u, near_v, rho, dt, dx, dy)

        def sweep(p):
            inside = relaxed(near(p), b, dx, dy)
            return (jnp.concatenate([inside[:1], inside, inside[-1:]]),)

        (p,) = repeated(sweep, (p,), sweeps)
        _, west, east, south, north = near(p)
        un, vn = near_u[0], near_v[0]
        u = advanced(un, vn, dt / (2 * rho * dx) * (east - west), near_u, dt, dx, dy, nu) + force * dt
        v = advanced(un, vn, dt / (2 * rho * dy) * (north - south), near_v, dt, dx, dy, nu)
        edges = ((1, 1), (0, 0))
        return jnp.pad(u, edges), jnp.pad(v, edges), p

    return repeated(step, (u, v, p), steps)


# Weather


def hdiff(field, coefficient):
    laplacian = 4.0 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
    step = laplacian[1:, 1:-1] - laplacian[:-1, 1:-1]
    flux_x = jnp.where(step * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0, step)
    step = laplacian[1:-1, 1:] - laplacian[1:-1, :-1]
    flux_y = jnp.where(step * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0, 0, step)
    return field[2:-2, 2:-2] - coefficient * (flux_x[1:] - flux_x[:-1] + flux_y[:, 1:] - flux_y[:, :-1])


def vadv(utens_stage, u_stage, wcon, u_pos, utens, *, dtr):
    """All coefficients at once, and two scans over levels of air."""
    utens_stage, u_stage, wcon, u_pos, utens = (
        jnp.moveaxis(a, 2, 0) for a in (utens_stage, u_stage, wcon, u_pos, utens)
    )
    between = 0.25 * (wcon[1:, 1:, :] + wcon[1:, :-1, :])  # of levels k - 1 and k
    zero = jnp.zeros_like(between[:1])
    above, below = jnp.concatenate([zero, -between]), jnp.concatenate([between, zero])
    rise = u_stage[1:] - u_stage[:-1]
    a, c = 0.5 * above, 0.5 * below
    d = dtr * u_pos + utens + utens_stage + a * jnp.concatenate([zero, rise]) - c * jnp.concatenate([rise, zero])

    def eliminate(state, at):
        last_c, last_d = state
        a, c, d = at
        divided = 1.0 / (dtr - a - c - last_c * a)
        new = c * divided, (d - last_d * a) * divided
        return new, new

    def substitute(x, at):
        c, d = at
        x = d - c * x
        return x, x

    _, (c, d) = jax.lax.scan(eliminate, (zero[0], zero[0]), (a, c, d))
    _, x = jax.lax.scan(substitute, zero[0], (c, d), reverse=True)
    return jnp.moveaxis(dtr * (x - u_pos), 0, 2)


# Gravity


def nbody(mass, pos, vel, *, steps, dt):
    def acceleration(pos):
        dx, dy, dz = differences(pos)
        inv_r3 = (dx**2 + dy**2 + dz**2 + SOFTENING**2) ** -1.5
        return jnp.concatenate([(dx * inv_r3) @ mass, (dy * inv_r3) @ mass, (dz * inv_r3) @ mass], axis=1)

    def energy(pos, vel):
        dx, dy, dz = differences(pos)
        squared = dx**2 + dy**2 + dz**2
        inv_r = jnp.where(squared > 0, 1.0 / jnp.sqrt(jnp.where(squared > 0, squared, 1.0)), 0.0)
        return 0.5 * jnp.sum(mass * vel**2), jnp.sum(jnp.triu(-(mass * mass.T) * inv_r, 1))

    def step(state, _):
        pos, vel, acc = state
        vel = vel + acc * dt / 2.0
        pos = pos + vel * dt
        acc = acceleration(pos)
        vel = vel + acc * dt / 2.0
        return (pos, vel, acc), energy(pos, vel)

    vel = vel - jnp.mean(mass * vel, axis=0) / jnp.mean(mass)
    first = energy(pos, vel)
    _, rest = jax.lax.scan(step, (pos, vel, acceleration(pos)), None, length=steps)
    return tuple(jnp.concatenate([a[None], b]) for a, b in zip(first, rest))


# Array code


def azimint_naive(data, radius, *, bins):
    """Sums by rings, in one pass."""
    edges = radius.max() * jnp.arange(bins + 1) / bins
    ring = jnp.searchsorted(edges, radius, side="right") - 1
    sums, counts = (jax.ops.segment_sum(a, ring, bins + 1) for a in (data, jnp.ones_like(data)))
    return sums[:bins] / counts[:bins]


def arc_distance(theta_1, phi_1, theta_2, phi_2):
    half = (
        jnp.sin((theta_2 - theta_1) / 2) ** 2 + jnp.cos(theta_1) * jnp.cos(theta_2) * jnp.sin((phi_2 - phi_1) / 2) ** 2
    )
    return 2 * jnp.arctan2(jnp.sqrt(half), jnp.sqrt(1 - half))


def compute(array_1, array_2, *, a, b, c):
    return jnp.clip(array_1, 2, 10) * a + array_2 * b + c


def go_fast(a):
    return a + jnp.sum(jnp.tanh(jnp.diag(a)))
