"""Fluids, weather, gravity, X-rays, and some lines of array code."""

from __future__ import annotations

import numpy as np

from .kernel import Kernel

# Navier-Stokes in two dimensions: a lid-driven cavity, and a channel that is periodic in x.


def velocity_source(u, v, rho, dt, dx, dy):
    """What the pressure has to balance, inside."""
    dudx = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)
    dvdy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
    dudy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy)
    dvdx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
    return rho * (1 / dt * (dudx + dvdy) - dudx**2 - 2 * (dudy * dvdx) - dvdy**2)


def cavity_flow(u, v, p, *, steps, sweeps, rho, nu):
    ny, nx = u.shape
    dx, dy, dt = 2 / (nx - 1), 2 / (ny - 1), 0.1 / ((nx - 1) * (ny - 1))
    b = np.zeros((ny, nx))
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        b[1:-1, 1:-1] = velocity_source(u, v, rho, dt, dx, dy)
        for _ in range(sweeps):
            pn = p.copy()
            p[1:-1, 1:-1] = ((pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2 + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2) / (
                2 * (dx**2 + dy**2)
            ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
            + nu * (dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2]))
            + nu * (dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[:-2, 1:-1]))
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
            - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
            + nu * (dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, :-2]))
            + nu * (dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[:-2, 1:-1]))
        )
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0
    return u, v, p


INSIDE = (slice(1, -1), slice(None, -2), slice(2, None))
COLUMNS = (INSIDE, (-1, -2, 0), (0, -1, 1))  # columns, with those to their west and east


def march(u, v, p, *, sweeps, rho, nu, force):
    """The channel until the flow hardly changes: the number of steps."""
    ny, nx = u.shape
    dx, dy, dt = 2 / (nx - 1), 2 / (ny - 1), 0.1 / ((nx - 1) * (ny - 1))
    b = np.zeros((ny, nx))
    change, count = 1.0, 0
    while change > 0.001:
        un, vn = u.copy(), v.copy()
        for here, west, east in COLUMNS:
            dudx = (u[1:-1, east] - u[1:-1, west]) / (2 * dx)
            dvdy = (v[2:, here] - v[:-2, here]) / (2 * dy)
            dudy = (u[2:, here] - u[:-2, here]) / (2 * dy)
            dvdx = (v[1:-1, east] - v[1:-1, west]) / (2 * dx)
            b[1:-1, here] = rho * (1 / dt * (dudx + dvdy) - dudx**2 - 2 * (dudy * dvdx) - dvdy**2)
        for _ in range(sweeps):
            pn = p.copy()
            for here, west, east in COLUMNS:
                p[1:-1, here] = ((pn[1:-1, east] + pn[1:-1, west]) * dy**2 + (pn[2:, here] + pn[:-2, here]) * dx**2) / (
                    2 * (dx**2 + dy**2)
                ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, here]
            p[-1, :] = p[-2, :]
            p[0, :] = p[1, :]
        for here, west, east in COLUMNS:
            u[1:-1, here] = (
                un[1:-1, here]
                - un[1:-1, here] * dt / dx * (un[1:-1, here] - un[1:-1, west])
                - vn[1:-1, here] * dt / dy * (un[1:-1, here] - un[:-2, here])
                - dt / (2 * rho * dx) * (p[1:-1, east] - p[1:-1, west])
                + nu * (dt / dx**2 * (un[1:-1, east] - 2 * un[1:-1, here] + un[1:-1, west]))
                + nu * (dt / dy**2 * (un[2:, here] - 2 * un[1:-1, here] + un[:-2, here]))
                + force * dt
            )
            v[1:-1, here] = (
                vn[1:-1, here]
                - un[1:-1, here] * dt / dx * (vn[1:-1, here] - vn[1:-1, west])
                - vn[1:-1, here] * dt / dy * (vn[1:-1, here] - vn[:-2, here])
                - dt / (2 * rho * dy) * (p[2:, here] - p[:-2, here])
                + nu * (dt / dx**2 * (vn[1:-1, east] - 2 * vn[1:-1, here] + vn[1:-1, west]))
                + nu * (dt / dy**2 * (vn[2:, here] - 2 * vn[1:-1, here] + vn[:-2, here]))
            )
        u[0, :] = 0
        u[-1, :] = 0
        v[0, :] = 0
        v[-1, :] = 0
        change = (np.sum(u) - np.sum(un)) / np.sum(u)
        count += 1
    return count


def channel_flow(u, v, p, **parameters):
    march(u, v, p, **parameters)
    return u, v, p


# Stencils of a model of the weather.


def hdiff(field, coefficient):
    """Horizontal diffusion with a limiter."""
    nx, ny, _ = coefficient.shape
    laplacian = 4.0 * field[1:-1, 1:-1, :] - (
        field[2:, 1:-1, :] + field[:-2, 1:-1, :] + field[1:-1, 2:, :] + field[1:-1, :-2, :]
    )
    step = laplacian[1:, 1:-1, :] - laplacian[:-1, 1:-1, :]
    flux_x = np.where(step * (field[2 : nx + 3, 2 : ny + 2, :] - field[1 : nx + 2, 2 : ny + 2, :]) > 0, 0, step)
    step = laplacian[1:-1, 1:, :] - laplacian[1:-1, :-1, :]
    flux_y = np.where(step * (field[2 : nx + 2, 2 : ny + 3, :] - field[2 : nx + 2, 1 : ny + 2, :]) > 0, 0, step)
    return field[2 : nx + 2, 2 : ny + 2, :] - coefficient * (
        flux_x[1:, :, :] - flux_x[:-1, :, :] + flux_y[:, 1:, :] - flux_y[:, :-1, :]
    )


def vadv(utens_stage, u_stage, wcon, u_pos, utens, *, dtr):
    """Vertical advection, implicit: a tridiagonal system for each column of air."""
    K = utens_stage.shape[2]
    ccol, dcol = np.empty_like(utens_stage), np.empty_like(utens_stage)
    for k in range(K):
        bcol = dtr
        correction = 0.0
        ccol[:, :, k] = 0.0
        if k > 0:
            above = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
            acol = 0.5 * above
            bcol = bcol - acol
            correction = correction - 0.5 * above * (u_stage[:, :, k - 1] - u_stage[:, :, k])
        if k < K - 1:
            below = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
            ccol[:, :, k] = 0.5 * below
            bcol = bcol - ccol[:, :, k]
            correction = correction - 0.5 * below * (u_stage[:, :, k + 1] - u_stage[:, :, k])
        dcol[:, :, k] = dtr * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction
        if k > 0:
            divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
            dcol[:, :, k] = (dcol[:, :, k] - dcol[:, :, k - 1] * acol) * divided
        else:
            divided = 1.0 / bcol
            dcol[:, :, k] = dcol[:, :, k] * divided
        ccol[:, :, k] = ccol[:, :, k] * divided
    column = dcol[:, :, K - 1]
    for k in range(K - 1, -1, -1):
        if k < K - 1:
            column = dcol[:, :, k] - ccol[:, :, k] * column
        utens_stage[:, :, k] = dtr * (column - u_pos[:, :, k])
    return utens_stage


# Gravity.

SOFTENING = 0.1


def differences(pos):
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    return x.T - x, y.T - y, z.T - z


def acceleration(pos, mass):
    dx, dy, dz = differences(pos)
    inv_r3 = dx**2 + dy**2 + dz**2 + SOFTENING**2
    inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0] ** (-1.5)
    return np.hstack(((dx * inv_r3) @ mass, (dy * inv_r3) @ mass, (dz * inv_r3) @ mass))


def energy(pos, vel, mass):
    dx, dy, dz = differences(pos)
    inv_r = np.sqrt(dx**2 + dy**2 + dz**2)
    inv_r[inv_r > 0] = 1.0 / inv_r[inv_r > 0]
    return 0.5 * np.sum(mass * vel**2), np.sum(np.triu(-(mass * mass.T) * inv_r, 1))


def nbody(mass, pos, vel, *, steps, dt):
    vel -= np.mean(mass * vel, axis=0) / np.mean(mass)
    acc = acceleration(pos, mass)
    kinetic, potential = np.empty(steps + 1), np.empty(steps + 1)
    kinetic[0], potential[0] = energy(pos, vel, mass)
    for i in range(steps):
        vel += acc * dt / 2.0
        pos += vel * dt
        acc = acceleration(pos, mass)
        vel += acc * dt / 2.0
        kinetic[i + 1], potential[i + 1] = energy(pos, vel, mass)
    return kinetic, potential


# Array code.


def azimint_naive(data, radius, *, bins):
    """The mean of the data in each ring."""
    largest = radius.max()
    rings = np.zeros(bins)
    for i in range(bins):
        inner, outer = largest * i / bins, largest * (i + 1) / bins
        mask = np.logical_and((inner <= radius), (radius < outer))
        rings[i] = data[mask].mean()
    return rings


def arc_distance(theta_1, phi_1, theta_2, phi_2):
    half = np.sin((theta_2 - theta_1) / 2) ** 2 + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    return 2 * (np.arctan2(np.sqrt(half), np.sqrt(1 - half)))


def compute(array_1, array_2, *, a, b, c):
    return np.clip(array_1, 2, 10) * a + array_2 * b + c


def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


def air(r, i, j, k):
    """With winds that leave the systems well-conditioned."""
    return r(i, j, k), r(i, j, k), 0.2 * r(i + 1, j, k), r(i, j, k), r(i, j, k), {"dtr": 3.0 / 20.0}


def still_water(r, n, sweeps):
    """Almost: what is zero has derivatives of zero."""
    return (*(1e-6 * r(n, n) for _ in range(3)), {"sweeps": sweeps, "force": 1.0, **FLOW})


FLOW = {"rho": 1.0, "nu": 0.1}

KERNELS = {
    "cavity_flow": Kernel(
        function=cavity_flow,
        arguments=lambda r, n, t, s: (r(n, n), r(n, n), r(n, n), {"steps": t, "sweeps": s, **FLOW}),
        tiny=(5, 2, 2),
        S=(61, 25, 5),
        M=(121, 50, 10),
        writes=(0, 1, 2),
    ),
    "channel_flow": Kernel(
        function=channel_flow,
        arguments=still_water,
        tiny=(5, 2),
        S=(61, 5),
        M=(121, 10),
        writes=(0, 1, 2),
        told=lambda *arrays, **parameters: {"steps": march(*(a.copy() for a in arrays), **parameters)},
    ),
    "hdiff": Kernel(
        function=hdiff,
        arguments=lambda r, i, j, k: (r(i + 4, j + 4, k), r(i, j, k)),
        tiny=(3, 4, 2),
        S=(64, 64, 60),
        M=(128, 128, 160),
    ),
    "vadv": Kernel(
        function=vadv,
        arguments=air,
        tiny=(2, 3, 5),
        S=(60, 60, 40),
        M=(112, 112, 80),
        writes=(0,),
    ),
    "nbody": Kernel(
        function=nbody,
        arguments=lambda r, n, t: (20.0 * r(n, 1) / n, r(n, 3), r(n, 3), {"steps": t, "dt": 0.05}),
        tiny=(4, 3),
        S=(25, 40),
        M=(50, 40),  # later, rounding grows to the size of the derivatives
        writes=(1, 2),
    ),
    "azimint_naive": Kernel(
        function=azimint_naive,
        arguments=lambda r, n, k: (r(n), r(n), {"bins": k}),
        tiny=(40, 3),
        S=(40000, 100),
        M=(400000, 200),
    ),
    "arc_distance": Kernel(
        function=arc_distance,
        arguments=lambda r, n: (r(n), r(n), r(n), r(n)),
        tiny=(5,),
        S=(100000,),
        M=(1000000,),
    ),
    "compute": Kernel(
        function=compute,
        arguments=lambda r, m, n: (12.0 * r(m, n), r(m, n), {"a": 4.0, "b": 3.0, "c": 9.0}),
        tiny=(3, 4),
        S=(500, 500),
        M=(2000, 2000),
    ),
    "go_fast": Kernel(
        function=go_fast,
        arguments=lambda r, n: (r(n, n),),
        tiny=(4,),
        S=(500,),
        M=(2000,),
    ),
}
